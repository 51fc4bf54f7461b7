#!/usr/bin/env bash
# Writes crates/samplewire-io/src/verbs/sys/bindings.rs from the header of libibverbs (Debian's
# libibverbs-dev) with bindgen (`cargo install bindgen-cli`, and libclang). The functions are found in
# the library at run time. Only what is called is declared.
set -euo pipefail
cd "$(dirname "$0")/.."

functions=(
    ibv_get_device_list ibv_free_device_list ibv_get_device_name ibv_open_device ibv_close_device
    ibv_query_port _ibv_query_gid_ex ibv_alloc_pd ibv_dealloc_pd ibv_reg_mr_iova ibv_dereg_mr
    ibv_create_comp_channel ibv_destroy_comp_channel ibv_create_cq ibv_destroy_cq ibv_get_cq_event
    ibv_ack_cq_events ibv_create_qp ibv_modify_qp ibv_destroy_qp ibv_get_async_event
    ibv_ack_async_event ibv_wc_status_str ibv_event_type_str
)
types='ibv_(wc|wc_flags|wc_opcode|wc_status|recv_wr|sge|access_flags|event_type|async_event|mtu)'
types+='|ibv_(qp_attr|qp_attr_mask|qp_cap|qp_init_attr|qp_type|qp_state|mig_state|ah_attr)'
types+='|ibv_(gid|gid_type|gid_entry|global_route|port_attr|port_state|context_ops|pd|mr)'
types+='|ibv_(async_event|wc|gid)__.*|ibv_comp_channel|__be(32|64)|__u(32|64)'
# Of these a program has pointers alone, or the first fields: what follows is of another length on
# each machine. They are declared in sys.rs.
elsewhere='ibv_(context|qp|cq|srq|wq|device|mw|mw_bind|mw_type|send_wr)|_compat_ibv_port_attr'

{
    sed 's/^/\/\/ /; s/ $//' <<'NOTICE'
Declarations of libibverbs, written by bindgen: see tools/verbs_bindings.sh.

They are those of infiniband/verbs.h of rdma-core, which is
Copyright (c) 2004, 2005 Topspin Communications.  All rights reserved.
Copyright (c) 2004, 2011-2012 Intel Corporation.  All rights reserved.
Copyright (c) 2005, 2006, 2007 Cisco Systems, Inc.  All rights reserved.
Copyright (c) 2005 PathScale, Inc.  All rights reserved.

Of its two licences this project uses the OpenIB.org BSD license:

Redistribution and use in source and binary forms, with or without modification, are permitted
provided that the following conditions are met:

 - Redistributions of source code must retain the above copyright notice, this list of conditions
   and the following disclaimer.

 - Redistributions in binary form must reproduce the above copyright notice, this list of
   conditions and the following disclaimer in the documentation and/or other materials provided
   with the distribution.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
NOTICE
    printf '#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]\n\n'
    printf 'use super::declared::*;\n\n'
    bindgen /usr/include/infiniband/verbs.h --disable-header-comment \
        --dynamic-loading Verbs --dynamic-link-require-all \
        --allowlist-function "$(IFS='|' && echo "${functions[*]}")" --allowlist-type "$types" \
        --blocklist-type "$elsewhere" --no-recursive-allowlist --no-doc-comments --no-derive-debug \
        --no-prepend-enum-name --default-enum-style consts --use-core --rust-target 1.85 --rust-edition 2024 --wrap-unsafe-ops
} >crates/samplewire-io/src/verbs/sys/bindings.rs
