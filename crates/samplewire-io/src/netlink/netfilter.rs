//! nftables: chains that packets pass on their way into the host.

use std::io;

use super::sys::Socket;

/// A chain at a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Its table and its name.
    pub name: String,
    /// `NF_INET_*`: 0 prerouting, 1 input.
    pub hook: u32,
    /// Whether it drops what no rule accepts.
    pub drops: bool,
}

/// The chains at hooks; needs CAP_NET_ADMIN.
///
/// # Errors
/// `EPERM` without the right; `EINVAL` or `EOPNOTSUPP` where the kernel has no nftables.
pub fn chains() -> io::Result<Vec<Chain>> {
    let socket = Socket::open(libc::NETLINK_NETFILTER)?;
    let kind = (libc::NFNL_SUBSYS_NFTABLES as u16) << 8 | NFT_MSG_GETCHAIN;
    let mut chains = Vec::new();
    // nfgenmsg: any family, version 0, no resource.
    socket.request(kind, &[0; HEADER_BYTES], true, |message| {
        let attributes = message.attributes(HEADER_BYTES);
        let text = |kind| attributes.get(kind).and_then(|it| it.text()).unwrap_or_default();
        let hook = attributes.get(4).and_then(|it| it.nested().get(1)?.network_number());
        if let Some(hook) = hook {
            let policy = attributes.get(5).and_then(|it| it.network_number());
            let name = format!("{}/{}", text(1), text(3));
            chains.push(Chain { name, hook, drops: policy == Some(NF_DROP) });
        }
    })?;
    Ok(chains)
}

const HEADER_BYTES: usize = 4;
const NFT_MSG_GETCHAIN: u16 = 4;
const NF_DROP: u32 = 0;
