-- The Samplewire stream protocol, version 1, and the block transfer: for Wireshark and tshark
-- (Lua 5.2 and later).
--
-- `samplewire dissector --install` puts this file where Wireshark finds it. A packet is known by
-- its version and CRC; from then on both directions between its two ports are dissected, damaged
-- packets included. Where the first packets are cut off or damaged: Decode As, or
-- `-d udp.port==9100,samplewire`. Numbers as #2.13 are rules of docs/protocol.md.

local samplewire = Proto("samplewire", "Samplewire stream protocol")

samplewire.prefs.check_crc = Pref.bool("Check the CRC of every packet", true,
  "Without it large captures load faster; damaged packets are not marked, and a datagram that " ..
  "holds several packets, joined by the kernel, is shown as one.")

local VERSION = 1
local HEADER_LEN = 22
local CRC_LEN = 4
local OPEN_LEN_MIN = 128
-- More are in the packet's bytes: a list that is shown is bounded.
local ITEMS_MAX = 256

-- Bits ---------------------------------------------------------------------------------------

-- Lua 5.2 has bit32, Wireshark's own Lua `bit`, whose results are signed; later ones operators.
local bits = bit32 or bit or load([[return {
  bxor = function(a, b) return a ~ b end,
  band = function(a, b) return a & b end,
  rshift = function(a, n) return (a & 0xffffffff) >> n end,
}]])()
local bxor, band, rshift = bits.bxor, bits.band, bits.rshift

-- CRC-32C (#2.5) -----------------------------------------------------------------------------

local CRC_TABLE = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    crc = band(crc, 1) == 1 and bxor(rshift(crc, 1), 0x82F63B78) or rshift(crc, 1)
  end
  CRC_TABLE[byte] = crc
end

local function crc_step(crc, byte)
  return bxor(rshift(crc, 8), CRC_TABLE[band(bxor(crc, byte), 0xff)])
end

-- The register as the CRC it stands for.
local function crc_of(register)
  return bxor(register, 0xffffffff) % 0x100000000
end

local function u32(raw, at)
  local a, b, c, d = raw:byte(at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

-- Whether raw[from..to] ends with the CRC of the bytes before.
local function is_sealed(raw, from, to)
  if to > #raw or to - from + 1 < HEADER_LEN + CRC_LEN then return false end
  local register = 0xffffffff
  for at = from, to - CRC_LEN do register = crc_step(register, raw:byte(at)) end
  return crc_of(register) == u32(raw, to - CRC_LEN + 1)
end

-- The length of the shortest start that ends with its CRC; one pass, 65,535 bytes at most.
local function first_sealed(raw)
  local register = 0xffffffff
  for at = 1, #raw - CRC_LEN do
    register = crc_step(register, raw:byte(at))
    if at >= HEADER_LEN and crc_of(register) == u32(raw, at + 1) then return at + CRC_LEN end
  end
end

-- Fields -------------------------------------------------------------------------------------

local TYPES = {
  [0] = "DATA", "MARK", "REPORT", "OPEN", "CHALLENGE", "ACCEPT", "REFUSE", "CLOSE", "CLOSE_ACK",
}
local ROLES = { [0] = "describe", "receive", "send" }
local DELIVERIES = { [0] = "complete", "deadline", "best effort" }
local FORMATS = { "sc8", "sc16", "fc32", "r8", "r16", "rf32", "uc8" }
local TRAILERS = { [0] = "CRC-32C" }
local REFUSALS = {
  "busy", "no such stream", "role", "packet size", "version", "window", "format", "delivery",
  "trailer", "start index",
}
local CLOSES = {
  [0] = "finished", "cancelled", "taken over", "device fault", "peer silent", "protocol",
  "underflow", "jump too far", "queue pair failed",
}
local CLOSE_ACKS = { [0] = "done", "unknown tag" }
local TLV_KINDS = {
  [0] = "end", "centre frequency", "name", "clock quality", "sample rate", "gain", "bandwidth",
  "reference", "ranges", "underflow", "queue pair", "slots",
}
local CRC_STATUS = { [0] = "bad", "good", "unverified" }

local fields = {}

local DEC, HEX = base.DEC, base.HEX

local function number(width, name, label, form, values)
  fields[name] = ProtoField["uint" .. width]("samplewire." .. name, label, form, values)
end

number(8, "version", "Version", DEC)
number(8, "type", "Type", DEC, TYPES)
number(8, "flags", "Flags", HEX)
local FLAGS = {
  { 0x01, "start", "START" }, { 0x02, "end_of_burst", "END_OF_BURST" },
  { 0x04, "overflow", "OVERFLOW" }, { 0x08, "retransmission", "RETRANSMISSION" },
  { 0x10, "meta", "META" }, { 0x20, "ask", "ASK" }, { 0x40, "reserved", "reserved" },
  { 0x80, "from_opener", "FROM_OPENER" },
}
for _, flag in ipairs(FLAGS) do
  local name = "flags." .. flag[2]
  fields[name] = ProtoField.bool("samplewire." .. name, flag[3], 8, nil, flag[1])
end
number(32, "tag", "Tag", HEX)
number(64, "index", "Index", DEC)
number(32, "seq", "Seq", DEC)
number(32, "departure", "Departure, 16 ns", DEC)
number(32, "crc", "CRC-32C", HEX)
number(8, "crc.status", "CRC status", DEC, CRC_STATUS)

fields.payload = ProtoField.bytes("samplewire.payload", "Payload, room before it included")
number(64, "valid_samples", "Valid samples of the burst's end", DEC)

number(32, "oldest", "Oldest seq held", DEC)
number(32, "report", "Newest REPORT taken", DEC)
number(32, "echo", "Echoed departure", DEC)
number(32, "hold", "Hold, 16 ns", DEC)
number(64, "source_lost", "Samples lost at the source", DEC)
number(64, "time_ns", "Time of the index, TAI ns", DEC)

number(32, "released", "Released", DEC)
number(32, "limit", "Limit", DEC)
number(32, "settled", "Settled departure", DEC)
number(32, "highest_end", "Highest end", DEC)
number(32, "received", "DATA received", DEC)
number(32, "marked", "DATA marked CE", DEC)
number(32, "skipped", "Given up", DEC)
number(16, "late", "Late", DEC)
number(16, "ranges", "Ranges", DEC)
fields.credit = ProtoField.int32("samplewire.credit", "Credit, limit less highest end", DEC)
fields.range = ProtoField.none("samplewire.range", "Range")
number(32, "range.first", "First seq", DEC)
number(32, "range.count", "Count", DEC)

number(32, "chosen_tag", "Chosen tag", HEX)
number(8, "role", "Role", DEC, ROLES)
number(8, "delivery", "Delivery", DEC, DELIVERIES)
number(16, "stream", "Stream", DEC)
number(64, "nonce", "Nonce", HEX)
number(64, "owner", "Owner", HEX)
fields.cookie = ProtoField.bytes("samplewire.cookie", "Cookie")
number(32, "window", "Window, packets", DEC)
number(16, "max_packet_bytes", "Largest IP packet, bytes", DEC)
number(8, "pad", "Pad before the payload, bytes", DEC)
number(8, "trailer_kind", "Trailer kind", DEC, TRAILERS)
number(32, "deadline_us", "Deadline, us", DEC)
number(32, "zero", "Zero", HEX)

number(16, "streams", "Streams of the device", DEC)
number(64, "boot_id", "Boot id", HEX)
number(64, "rate_numerator", "Sample rate, numerator, Hz", DEC)
number(32, "rate_denominator", "Sample rate, denominator", DEC)
number(16, "format", "Sample format", DEC, FORMATS)
number(16, "channels", "Channels", DEC)
number(32, "packet_samples", "Samples a packet", DEC)
number(16, "payload_bytes", "Payload, bytes", DEC)
number(8, "payload_offset", "Payload offset, bytes", DEC)
number(32, "reorder_tolerance", "Reordering tolerance, 16 ns", DEC)
number(16, "dead_ms", "Dead after, ms", DEC)
number(16, "idle_ms", "Idle after, ms", DEC)
number(16, "ranges_max", "Ranges of a REPORT at most", DEC)
number(16, "granularity_bytes", "Granularity of a burst's end, bytes", DEC)

number(16, "refuse.reason", "Reason", DEC, REFUSALS)
number(16, "versions", "Versions spoken", HEX)
number(32, "retry_ms", "Retry after, ms", DEC)
number(16, "close.reason", "Reason", DEC, CLOSES)
number(32, "last", "Last REPORT", DEC)
number(16, "close_ack.reason", "Reason", DEC, CLOSE_ACKS)
number(32, "echoed_tag", "Echoed tag", HEX)

fields.tlv = ProtoField.none("samplewire.tlv", "TLV")
number(16, "tlv.kind", "Kind", DEC, TLV_KINDS)
number(16, "tlv.len", "Length of the value, bytes", DEC)
fields["tlv.value"] = ProtoField.bytes("samplewire.tlv.value", "Value")
fields["tlv.f64"] = ProtoField.double("samplewire.tlv.f64", "Value of a channel, Hz or dB")
fields["tlv.name"] = ProtoField.string("samplewire.tlv.name", "Name", base.UNICODE)
fields.padding = ProtoField.bytes("samplewire.padding", "Padding")
fields.body = ProtoField.bytes("samplewire.body", "Body")

local list = {}
for _, field in pairs(fields) do list[#list + 1] = field end
samplewire.fields = list

local GROUP, SEVERITY = expert.group, expert.severity
local experts = {
  too_short = ProtoExpert.new("samplewire.too_short", "Too short for a packet",
    GROUP.MALFORMED, SEVERITY.ERROR),
  version = ProtoExpert.new("samplewire.version.other", "Another version",
    GROUP.PROTOCOL, SEVERITY.WARN),
  unknown_type = ProtoExpert.new("samplewire.type.unknown", "Unknown packet type",
    GROUP.UNDECODED, SEVERITY.WARN),
  reserved_flag = ProtoExpert.new("samplewire.flags.reserved_set", "The reserved flag is set",
    GROUP.PROTOCOL, SEVERITY.WARN),
  crc = ProtoExpert.new("samplewire.crc.bad", "Bad CRC", GROUP.CHECKSUM, SEVERITY.ERROR),
  malformed = ProtoExpert.new("samplewire.malformed", "Malformed",
    GROUP.MALFORMED, SEVERITY.ERROR),
  cut = ProtoExpert.new("samplewire.cut", "Cut off by the capture",
    GROUP.UNDECODED, SEVERITY.NOTE),
  joined = ProtoExpert.new("samplewire.joined", "Several packets in one datagram",
    GROUP.REASSEMBLE, SEVERITY.CHAT),
}
local experts_list = {}
for _, info in pairs(experts) do experts_list[#experts_list + 1] = info end
samplewire.experts = experts_list

-- Bodies (#2.10 to #2.18) --------------------------------------------------------------------

-- Fields and lengths in the order of the wire. `len` is exact, `min` is of what a list follows.
local BODIES = {
  [1] = { len = 32, { "oldest", 4 }, { "report", 4 }, { "echo", 4 }, { "hold", 4 },
    { "source_lost", 8 }, { "time_ns", 8 } },
  [2] = { min = 40, { "released", 4 }, { "limit", 4 }, { "settled", 4 }, { "highest_end", 4 },
    { "echo", 4 }, { "hold", 4 }, { "received", 4 }, { "marked", 4 }, { "skipped", 4 },
    { "late", 2 }, { "ranges", 2 } },
  [3] = { min = OPEN_LEN_MIN - HEADER_LEN - CRC_LEN, tlvs = 56, { "chosen_tag", 4 },
    { "role", 1 }, { "delivery", 1 }, { "stream", 2 }, { "nonce", 8 }, { "owner", 8 },
    { "cookie", 16 }, { "window", 4 }, { "max_packet_bytes", 2 }, { "pad", 1 },
    { "trailer_kind", 1 }, { "deadline_us", 4 }, { "zero", 4 } },
  [4] = { len = 24, { "nonce", 8 }, { "cookie", 16 } },
  [5] = { min = 72, tlvs = 72, { "nonce", 8 }, { "chosen_tag", 4 }, { "stream", 2 },
    { "streams", 2 }, { "boot_id", 8 }, { "rate_numerator", 8 }, { "rate_denominator", 4 },
    { "format", 2 }, { "channels", 2 }, { "packet_samples", 4 }, { "payload_bytes", 2 },
    { "payload_offset", 1 }, { "trailer_kind", 1 }, { "window", 4 },
    { "reorder_tolerance", 4 }, { "dead_ms", 2 }, { "idle_ms", 2 }, { "ranges_max", 2 },
    { "granularity_bytes", 2 }, { "time_ns", 8 } },
  [6] = { len = 16, { "nonce", 8 }, { "refuse.reason", 2 }, { "versions", 2 },
    { "retry_ms", 4 } },
  [7] = { len = 16, { "close.reason", 2 }, { "zero", 2 }, { "last", 4 }, { "source_lost", 8 } },
  [8] = { len = 16, { "close_ack.reason", 2 }, { "zero", 2 }, { "echoed_tag", 4 },
    { "source_lost", 8 } },
}

local DATA, REPORT, OPEN = 0, 2, 3
local END_OF_BURST, META, RESERVED = 0x02, 0x10, 0x40

-- TLVs up to the end mark (#2.9); returns what is wrong with them.
local function add_tlvs(tree, body, at)
  local shown = 0
  while body:len() - at >= 2 do
    local kind = body(at, 2):uint()
    if kind == 0 then break end
    local left = body:len() - at - 4
    local len = left >= 0 and body(at + 2, 2):uint() or 0
    if left < len then
      return ("Tlv: tlv %d of %d bytes reaches past its packet"):format(kind, len)
    end
    if shown < ITEMS_MAX then
      local item = tree:add(fields.tlv, body(at, 4 + len))
      item:append_text((": %s"):format(TLV_KINDS[kind] or ("kind " .. kind .. ", unknown")))
      item:add(fields["tlv.kind"], body(at, 2))
      item:add(fields["tlv.len"], body(at + 2, 2))
      if len > 0 then
        local value = body(at + 4, len)
        item:add(fields["tlv.value"], value)
        if kind == 2 then item:add(fields["tlv.name"], value, value:string(ENC_UTF_8)) end
        if kind == 1 or kind == 5 or kind == 6 then
          for channel = 0, math.min(math.floor(len / 8), ITEMS_MAX) - 1 do
            item:add(fields["tlv.f64"], value(8 * channel, 8))
          end
        end
      end
    end
    shown = shown + 1
    at = at + 4 + len
  end
  if at < body:len() then tree:add(fields.padding, body(at)) end
end

local function add_ranges(tree, body)
  local count = body(38, 2):uint()
  if body:len() - 40 ~= count * 8 then
    return ("Count: %d ranges do not fit a body of %d bytes"):format(count, body:len())
  end
  for place = 0, math.min(count, ITEMS_MAX) - 1 do
    local range = body(40 + 8 * place, 8)
    local item = tree:add(fields.range, range)
    item:append_text((": %u, %u packets"):format(range(0, 4):uint(), range(4, 4):uint()))
    item:add(fields["range.first"], range(0, 4))
    item:add(fields["range.count"], range(4, 4))
  end
end

local function add_data(tree, body, flags)
  if body:len() < 8 then
    return ("Length: a body of %d bytes does not fit DATA"):format(body:len())
  end
  tree:add(fields.payload, body())
  if band(flags, META) ~= 0 then
    add_tlvs(tree, body, 0)
  elseif band(flags, END_OF_BURST) ~= 0 then
    tree:add(fields.valid_samples, body(body:len() - 8, 8))
  end
end

-- Adds a body's fields as far as they were captured; returns what is wrong with it, in the order
-- and under the names of vectors/README.md.
local function add_body(tree, kind, flags, body, is_whole)
  if kind == DATA then
    if is_whole then return add_data(tree, body, flags) end
    tree:add(fields.payload, body())
    return
  end
  local layout = BODIES[kind]
  local at = 0
  for _, field in ipairs(layout) do
    if at + field[2] > body:len() then break end
    tree:add(fields[field[1]], body(at, field[2]))
    at = at + field[2]
  end
  if kind == REPORT and body:len() >= 16 then
    local credit = (body(4, 4):uint() - body(12, 4):uint()) % 0x100000000
    if credit >= 0x80000000 then credit = credit - 0x100000000 end
    tree:add(fields.credit, body(4, 4), credit):set_generated()
  end
  if not is_whole then return end
  local len = body:len()
  if (layout.len and len ~= layout.len) or (layout.min and len < layout.min) then
    return ("Length: a body of %d bytes does not fit %s"):format(len, TYPES[kind])
  end
  local zero = 0
  if kind == OPEN then zero = body(52, 4):uint() end
  if kind == 7 or kind == 8 then zero = body(2, 2):uint() end
  if zero ~= 0 then
    return ("ReservedField: a field of %s that must be zero is 0x%x"):format(TYPES[kind], zero)
  end
  if kind == OPEN and not ROLES[body(4, 1):uint()] then
    return ("Role: role %d does not exist"):format(body(4, 1):uint())
  end
  if kind == REPORT then return add_ranges(tree, body) end
  if layout.tlvs then return add_tlvs(tree, body, layout.tlvs) end
end

-- Packets ------------------------------------------------------------------------------------

local function add_crc(tree, tvb)
  local len = tvb:len()
  local item = tree:add(fields.crc, tvb(len - CRC_LEN, CRC_LEN))
  local status = 2
  if samplewire.prefs.check_crc then
    status = is_sealed(tvb:raw(), 1, len) and 1 or 0
  end
  tree:add(fields["crc.status"], tvb(len - CRC_LEN, CRC_LEN), status):set_generated()
  if status == 0 then item:add_proto_expert_info(experts.crc) end
  return status == 0
end

local function add_flags(tree, range)
  local item = tree:add(fields.flags, range)
  local names = {}
  for _, flag in ipairs(FLAGS) do
    item:add(fields["flags." .. flag[2]], range)
    if band(range:uint(), flag[1]) ~= 0 then names[#names + 1] = flag[3] end
  end
  if #names > 0 then item:append_text((" (%s)"):format(table.concat(names, ", "))) end
  return item, names
end

-- Dissects one packet of `len` bytes, of which `tvb` was captured; returns words for the list.
local function add_packet(tvb, len, root)
  local captured = tvb:len()
  local tree = root:add(samplewire, tvb)
  if captured == 0 then return "nothing captured" end
  local first = tvb(0, 1):uint()
  local version, kind = rshift(first, 4), band(first, 0x0f)
  local name = TYPES[kind] or ("type " .. kind)
  tree:append_text(", " .. name)
  tree:add(fields.version, tvb(0, 1), version)
  local kind_item = tree:add(fields.type, tvb(0, 1), kind)
  local is_whole = captured == len
  if not is_whole then
    tree:add_proto_expert_info(experts.cut, ("%d of %d bytes were captured"):format(captured, len))
  elseif len < HEADER_LEN + CRC_LEN then
    tree:add_proto_expert_info(experts.too_short,
      ("TooShort: %d bytes are too short for a packet"):format(len))
    return name .. " too short"
  end
  if version ~= VERSION then
    if captured >= 6 then tree:add(fields.tag, tvb(2, 4)) end
    if captured > 6 then tree:add(fields.body, tvb(6)) end
    tree:add_proto_expert_info(experts.version, ("Version: version %d is not 1"):format(version))
    return ("%s of version %d"):format(name, version)
  end
  if captured < HEADER_LEN then return name .. " cut off" end
  local flags = tvb(1, 1):uint()
  local flags_item, flag_names = add_flags(tree, tvb(1, 1))
  tree:add(fields.tag, tvb(2, 4))
  tree:add(fields.index, tvb(6, 8))
  tree:add(fields.seq, tvb(14, 4))
  tree:add(fields.departure, tvb(18, 4))
  local words = ("%s seq=%u index=%s"):format(name, tvb(14, 4):uint(),
    tostring(tvb(6, 8):uint64()))
  if #flag_names > 0 then words = words .. " [" .. table.concat(flag_names, " ") .. "]" end
  if not TYPES[kind] then
    kind_item:add_proto_expert_info(experts.unknown_type,
      ("UnknownType: packet type %d is reserved"):format(kind))
  end
  if band(flags, RESERVED) ~= 0 then
    flags_item:add_proto_expert_info(experts.reserved_flag,
      "ReservedFlag: the reserved flag is set")
  end
  local body_len = (is_whole and len - CRC_LEN or captured) - HEADER_LEN
  local body = tvb(HEADER_LEN, body_len):tvb()
  local wrong
  if kind == REPORT and body_len >= 40 then
    words = words .. (" released=%u limit=%u ranges=%u"):format(body(0, 4):uint(),
      body(4, 4):uint(), body(38, 2):uint())
  end
  if TYPES[kind] then
    wrong = add_body(tree, kind, flags, body, is_whole)
  elseif body_len > 0 then
    tree:add(fields.body, tvb(HEADER_LEN, body_len))
  end
  if is_whole and add_crc(tree, tvb) then return words .. " BAD CRC" end
  if wrong then
    tree:add_proto_expert_info(experts.malformed, wrong)
    return words .. " malformed"
  end
  return words
end

-- Datagrams ----------------------------------------------------------------------------------

-- The length of the packets of the last run from one port to another, by both: a capture is taken
-- above the kernel's segmentation and joining, so that a datagram may be a run of packets of one
-- length. One entry for each pair of ports of the capture.
local runs = {}

function samplewire.init()
  runs = {}
end

local function key_of(pinfo)
  return ("%s %d %s %d"):format(tostring(pinfo.src), pinfo.src_port, tostring(pinfo.dst),
    pinfo.dst_port)
end

-- The length of the first packet of a datagram; nil if no CRC is valid.
local function packet_len(raw, len, last)
  if #raw == len and is_sealed(raw, 1, len) then return len end
  if last and last < len and is_sealed(raw, 1, last) then return last end
  if rshift(raw:byte(1) or 0, 4) ~= VERSION then return nil end
  local found = first_sealed(raw)
  if found then return found end
  if last and last < len and is_sealed(raw, last + 1, math.min(2 * last, len)) then
    return last
  end
end

function samplewire.dissector(tvb, pinfo, tree)
  local len, captured = tvb:reported_len(), tvb:captured_len()
  pinfo.cols.protocol = "Samplewire"
  if captured == 0 then return 0 end
  local each = len
  if samplewire.prefs.check_crc then
    local key = key_of(pinfo)
    each = packet_len(tvb:raw(), len, runs[key]) or len
    if each < len then runs[key] = each end
  end
  local words, count, at = nil, 0, 0
  while at < captured do
    local packet = math.min(each, len - at)
    local shown = add_packet(tvb(at, math.min(packet, captured - at)):tvb(), packet, tree)
    words = words or shown
    count, at = count + 1, at + packet
  end
  if count > 1 then
    words = ("%s and %d packets more"):format(words, count - 1)
    tree:add_proto_expert_info(experts.joined,
      ("%d packets in one datagram: the kernel splits or joins them beneath the capture")
      :format(count))
  end
  pinfo.cols.info = words
  return captured
end

-- A packet of ours is one whose CRC is right. Its ports are then ours, so that damaged ones show.
local function is_ours(tvb, pinfo, tree)
  local captured = tvb:captured_len()
  if captured < HEADER_LEN + CRC_LEN or rshift(tvb(0, 1):uint(), 4) ~= VERSION then
    return false
  end
  if not packet_len(tvb:raw(), tvb:reported_len(), nil) then return false end
  pinfo.conversation = samplewire
  samplewire.dissector(tvb, pinfo, tree)
  return true
end

samplewire:register_heuristic("udp", is_ours)
DissectorTable.get("udp.port"):add_for_decode_as(samplewire)

-- Block transfer (docs/block.md): frames of EtherType 0x88b5 --------------------------------

local block = Proto("samplewire_block", "Samplewire block transfer")

local BLOCK_TYPES = {
  [0x01] = "DATA", [0x02] = "SUMMARY", [0x03] = "ANSWER",
  [0x11] = "DATA", [0x12] = "SUMMARY", [0x13] = "ANSWER",
}
local ETHERNET_LEN = 14
local FRAME_LEN_MIN, FRAME_LEN_MAX = 60, 1500

local block_fields = {
  type = ProtoField.uint8("samplewire_block.type", "Type", HEX, BLOCK_TYPES),
  transfer = ProtoField.uint32("samplewire_block.transfer", "Transfer ID", HEX),
  seq = ProtoField.uint32("samplewire_block.seq", "Seq", DEC),
  payload = ProtoField.bytes("samplewire_block.payload", "Payload and padding"),
  packets = ProtoField.uint32("samplewire_block.packets", "Packets", DEC),
  bytes = ProtoField.uint64("samplewire_block.bytes", "Payload of the whole, bytes", DEC),
  crc = ProtoField.uint32("samplewire_block.crc", "CRC-32C of the whole", HEX),
  answer = ProtoField.string("samplewire_block.answer", "Answer"),
  count = ProtoField.uint16("samplewire_block.count", "Missing seqs", DEC),
  missing = ProtoField.uint32("samplewire_block.missing", "Missing seq", DEC),
}
block.fields = block_fields

local block_expert = ProtoExpert.new("samplewire_block.malformed", "Malformed",
  GROUP.MALFORMED, SEVERITY.ERROR)
local block_cut = ProtoExpert.new("samplewire_block.cut", "Cut off by the capture",
  GROUP.UNDECODED, SEVERITY.NOTE)
block.experts = { block_expert, block_cut }

local ethernet_source = Field.new("eth.src")

-- An answer from its letters on; returns words for the list, and what is wrong with it.
local function add_answer(tree, tvb, at, has_id)
  local letters = tvb(at, 2):string()
  tree:add(block_fields.answer, tvb(at, 2))
  local count = tvb(at + 2, 2):uint()
  if letters == "OK" then
    if has_id and count ~= 0 then
      return "OK", ("OkWithCount: OK in front of 0x%04x in place of padding"):format(count)
    end
    return "OK"
  end
  if letters == "CK" and has_id then
    if count ~= 0xffff then
      return "CK", ("CheckingWithCount: CK in front of 0x%04x in place of 0xffff"):format(count)
    end
    return "CK"
  end
  if letters ~= "MI" then return "ANSWER", "Answer: none of OK, MI and CK" end
  tree:add(block_fields.count, tvb(at + 2, 2))
  local room = math.floor((tvb:len() - at - 4) / 4)
  if count == 0 or count > room then
    return "MI", ("Count: a list of %d seqs in a frame with room for %d"):format(count, room)
  end
  -- A frame has 370 at most.
  for place = 0, count - 1 do tree:add(block_fields.missing, tvb(at + 4 + 4 * place, 4)) end
  return ("MI %d from %u"):format(count, tvb(at + 4, 4):uint())
end

-- Adds the fields of a frame that was captured whole; returns words and an error as above.
local function add_block(tree, tvb)
  local len = tvb:len() + ETHERNET_LEN
  if len < FRAME_LEN_MIN then
    return "too short", ("TooShort: %d bytes are less than the 60 of a frame"):format(len)
  elseif len > FRAME_LEN_MAX then
    return "too long", ("TooLong: %d bytes are more than the 1500 of a frame"):format(len)
  end
  local source = ethernet_source()
  if source and band(source.range(0, 1):uint(), 1) == 1 then
    return "from a group", "GroupSource: the source address is that of a group"
  end
  local kind = tvb(0, 1):uint()
  tree:add(block_fields.type, tvb(0, 1))
  local name = BLOCK_TYPES[kind]
  if not name then
    return ("type 0x%02x"):format(kind), ("UnknownType: type 0x%02x does not exist"):format(kind)
  end
  local has_id, at = kind >= 0x10, 1
  if has_id then
    tree:add(block_fields.transfer, tvb(1, 4))
    at = 5
  end
  if name == "DATA" then
    tree:add(block_fields.seq, tvb(at, 4))
    tree:add(block_fields.payload, tvb(at + 4))
    return ("DATA seq=%u"):format(tvb(at, 4):uint())
  elseif name == "SUMMARY" then
    tree:add(block_fields.packets, tvb(at, 4))
    tree:add(block_fields.bytes, tvb(at + 4, 8))
    if has_id then tree:add(block_fields.crc, tvb(at + 12, 4)) end
    return ("SUMMARY packets=%u bytes=%s"):format(tvb(at, 4):uint(),
      tostring(tvb(at + 4, 8):uint64()))
  end
  return add_answer(tree, tvb, at, has_id)
end

function block.dissector(tvb, pinfo, root)
  local len, captured = tvb:reported_len(), tvb:captured_len()
  pinfo.cols.protocol = "Samplewire block"
  if captured == 0 then return 0 end
  local tree = root:add(block, tvb())
  if captured < len then
    tree:add_proto_expert_info(block_cut, ("Cut: %d of %d bytes were captured")
      :format(captured + ETHERNET_LEN, len + ETHERNET_LEN))
    pinfo.cols.info = "cut off"
    return captured
  end
  local words, wrong = add_block(tree, tvb)
  tree:append_text(", " .. words)
  if wrong then tree:add_proto_expert_info(block_expert, wrong) end
  pinfo.cols.info = words
  return captured
end

DissectorTable.get("ethertype"):add(0x88b5, block)
