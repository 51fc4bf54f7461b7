/*
 * DPDK's inline functions and large structures as flat functions with plain types, for src/sys. Functions
 * that return int return 0 or a negative errno.
 */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

/* How a port is started. As `Shape` in src/sys/device.rs. */
struct samplewire_dpdk_shape {
    uint32_t frame_bytes; /* memory of a frame, without the headroom */
    uint16_t mtu_bytes;
    uint16_t queues;
    uint16_t descriptors; /* of each ring */
};

/* What was granted. As `Granted` there. */
struct samplewire_dpdk_granted {
    void *pool; /* NULL where there is none; also set by a start that failed later */
    uint64_t memory_bytes;
    uint32_t speed_mbps; /* 0 where it is unknown, or the device is virtual */
    uint8_t mac[6];
};

/* A received frame. As `Received` there. */
struct samplewire_dpdk_received {
    void *frame;
    const uint8_t *bytes;
    uint32_t len_bytes; /* 0 for a frame in several pieces, which no port of ours is to deliver */
    uint8_t ip;         /* 0: not checked, 1: right, 2: wrong */
    uint8_t udp;
};

int samplewire_dpdk_eal(int argc, char **argv)
{
    if (rte_eal_init(argc, argv) >= 0)
        return 0;
    return rte_errno != 0 ? -rte_errno : -EINVAL;
}

/* The port of a device, `NAME` or `NAME,ARGUMENTS`, which is probed unless it is known; it is then ours. */
int samplewire_dpdk_attach(const char *device, uint16_t *port)
{
    char name[RTE_ETH_NAME_MAX_LEN];
    struct rte_eth_dev_owner owner;
    size_t len = strcspn(device, ",");

    if (len == 0 || len >= sizeof(name))
        return -EINVAL;
    memcpy(name, device, len);
    name[len] = 0;
    if (rte_eth_dev_get_port_by_name(name, port) != 0) {
        int error = rte_dev_probe(device);

        if (error == 0)
            error = rte_eth_dev_get_port_by_name(name, port);
        if (error != 0)
            return error;
    }
    if (rte_eth_dev_owner_get(*port, &owner) != 0)
        return -ENODEV;
    if (owner.id != RTE_ETH_DEV_NO_OWNER)
        return -EBUSY;
    rte_eth_dev_owner_new(&owner.id);
    strcpy(owner.name, "samplewire");
    return rte_eth_dev_owner_set(*port, &owner);
}

static uint64_t pool_bytes(const struct rte_mempool *pool)
{
    return (uint64_t)pool->size * (pool->header_size + pool->elt_size + pool->trailer_size);
}

static int configure(uint16_t port, const struct samplewire_dpdk_shape *shape,
                     const struct rte_eth_dev_info *info)
{
    struct rte_eth_conf conf;

    memset(&conf, 0, sizeof(conf));
    conf.rxmode.mtu = shape->mtu_bytes;
    conf.rxmode.offloads =
        info->rx_offload_capa & (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
    conf.rx_adv_conf.rss_conf.rss_hf =
        info->flow_type_rss_offloads & (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP);
    if (shape->queues > 1 && conf.rx_adv_conf.rss_conf.rss_hf != 0)
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    return rte_eth_dev_configure(port, shape->queues, 1, &conf);
}

/* Frames for all rings, for the bursts of src/sys/device.rs, and for the cache of a thread of DPDK. */
static struct rte_mempool *make_pool(uint16_t port, uint32_t frame_bytes, unsigned int frames)
{
    char name[RTE_MEMPOOL_NAMESIZE];

    snprintf(name, sizeof(name), "samplewire-%u", port);
    return rte_pktmbuf_pool_create(name, frames + 512, 128, 0, RTE_PKTMBUF_HEADROOM + frame_bytes,
                                   rte_eth_dev_socket_id(port));
}

/*
 * Stops a port, started or not, takes its device off, unless another port is of the same one, and then
 * frees the pool. A driver refers to the pool until its queues are released.
 */
void samplewire_dpdk_stop(uint16_t port, void *pool)
{
    struct rte_eth_dev_info info;
    unsigned int ports = 0;
    uint16_t other;

    memset(&info, 0, sizeof(info));
    if (rte_eth_dev_info_get(port, &info) == 0 && info.device != NULL) {
        RTE_ETH_FOREACH_DEV_OF(other, info.device)
            ports++;
    }
    rte_eth_dev_stop(port);
    if (ports != 1 || rte_dev_remove(info.device) != 0)
        rte_eth_dev_close(port);
    rte_mempool_free(pool);
}

/* Starts a port that was attached. The pool is the caller's, also on an error: samplewire_dpdk_stop. */
int samplewire_dpdk_start(uint16_t port, const struct samplewire_dpdk_shape *shape,
                          struct samplewire_dpdk_granted *granted)
{
    uint16_t rx = shape->descriptors, tx = shape->descriptors, queue;
    int socket = rte_eth_dev_socket_id(port);
    struct rte_eth_dev_info info;
    struct rte_ether_addr mac;
    struct rte_mempool *pool;
    struct rte_eth_link link;
    int error;

    memset(granted, 0, sizeof(*granted));
    error = rte_eth_dev_info_get(port, &info);
    if (error == 0)
        error = configure(port, shape, &info);
    if (error == 0)
        error = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx);
    if (error != 0)
        return error;
    /* Some drivers, such as AF_XDP's, have rings of their own size. */
    pool = make_pool(port, shape->frame_bytes,
                     shape->queues * RTE_MAX(rx, info.default_rxportconf.ring_size) +
                         RTE_MAX(tx, info.default_txportconf.ring_size));
    if (pool == NULL)
        return rte_errno != 0 ? -rte_errno : -ENOMEM;
    granted->pool = pool;
    for (queue = 0; error == 0 && queue < shape->queues; queue++)
        error = rte_eth_rx_queue_setup(port, queue, rx, socket, NULL, pool);
    if (error == 0)
        error = rte_eth_tx_queue_setup(port, 0, tx, socket, NULL);
    if (error == 0)
        error = rte_eth_macaddr_get(port, &mac);
    if (error == 0)
        error = rte_eth_dev_start(port);
    if (error != 0)
        return error;
    granted->memory_bytes = pool_bytes(pool);
    memcpy(granted->mac, mac.addr_bytes, sizeof(granted->mac));
    if (strcmp(rte_bus_name(rte_dev_bus(info.device)), "vdev") != 0 &&
        rte_eth_link_get_nowait(port, &link) == 0 && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
        granted->speed_mbps = link.link_speed;
    return 0;
}

static uint8_t verdict(uint64_t flags, uint64_t mask, uint64_t bad)
{
    flags &= mask;
    return flags == 0 ? 0 : flags == bad ? 2 : 1;
}

uint16_t samplewire_dpdk_receive(uint16_t port, uint16_t queue,
                                 struct samplewire_dpdk_received *received, uint16_t count)
{
    struct rte_mbuf *frames[32];
    uint16_t at;

    count = rte_eth_rx_burst(port, queue, frames, RTE_MIN(count, RTE_DIM(frames)));
    for (at = 0; at < count; at++) {
        struct rte_mbuf *frame = frames[at];

        received[at].frame = frame;
        received[at].bytes = rte_pktmbuf_mtod(frame, const uint8_t *);
        received[at].len_bytes = frame->nb_segs == 1 ? frame->data_len : 0;
        received[at].ip =
            verdict(frame->ol_flags, RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_BAD);
        received[at].udp =
            verdict(frame->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_BAD);
    }
    return count;
}

uint16_t samplewire_dpdk_send(uint16_t port, void **frames, uint16_t count)
{
    return rte_eth_tx_burst(port, 0, (struct rte_mbuf **)frames, count);
}

/* Takes that many frames, or none. */
int samplewire_dpdk_take(void *pool, void **frames, unsigned int count)
{
    return rte_pktmbuf_alloc_bulk(pool, (struct rte_mbuf **)frames, count);
}

/* The memory of an empty frame that is to have this length; NULL where it has no room. */
uint8_t *samplewire_dpdk_begin(void *frame, uint16_t len_bytes)
{
    return (uint8_t *)rte_pktmbuf_append(frame, len_bytes);
}

void samplewire_dpdk_free(void **frames, unsigned int count)
{
    rte_pktmbuf_free_bulk((struct rte_mbuf **)frames, count);
}

/* Frames that found no descriptor or no memory since the port was started. */
uint64_t samplewire_dpdk_missed(uint16_t port)
{
    struct rte_eth_stats stats;

    return rte_eth_stats_get(port, &stats) == 0 ? stats.imissed + stats.rx_nombuf : 0;
}
