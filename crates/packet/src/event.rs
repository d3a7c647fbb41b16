//! What is odd about a packet or a stream, under the names of Suricata's rules: [`Event`], a set of them: [`Events`].
//! Rule: a name here is the one that `decode-event` or `stream-event` has in a rule.

use std::fmt;

macro_rules! events {
    ($first:ident, decode: { $($decode:ident = $decode_name:literal,)* } stream: { $($stream:ident = $stream_name:literal,)* }) => {
        /// Something odd. The names are those of Suricata's `decode-event` and `stream-event`, which say what is meant.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each is said by the name that it has in rules")]
        pub enum Event {
            $($decode,)*
            $($stream,)*
        }

        const DECODE: &[(Event, &str)] = &[$((Event::$decode, $decode_name),)*];
        const STREAM: &[(Event, &str)] = &[$((Event::$stream, $stream_name),)*];
        /// The first of the stream's.
        const FIRST_OF_STREAM: u8 = Event::$first as u8;
    };
}

events! {
    HandshakeAckInWrongDir,
    decode: {
        AfpacketTruncPkt = "afpacket.trunc_pkt",
        ChdlcPktTooSmall = "chdlc.pkt_too_small",
        DcePktTooSmall = "dce.pkt_too_small",
        ErspanHeaderTooSmall = "erspan.header_too_small",
        ErspanTooManyVlanLayers = "erspan.too_many_vlan_layers",
        ErspanUnsupportedVersion = "erspan.unsupported_version",
        EtagHeaderTooSmall = "etag.header_too_small",
        EtagUnknownType = "etag.unknown_type",
        EthernetPktTooSmall = "ethernet.pkt_too_small",
        EthernetUnknownEthertype = "ethernet.unknown_ethertype",
        GrePktTooSmall = "gre.pkt_too_small",
        GreVersion0Flags = "gre.version0_flags",
        GreVersion0HdrTooBig = "gre.version0_hdr_too_big",
        GreVersion0Recur = "gre.version0_recur",
        GreVersion1Chksum = "gre.version1_chksum",
        GreVersion1Flags = "gre.version1_flags",
        GreVersion1HdrTooBig = "gre.version1_hdr_too_big",
        GreVersion1MalformedSreHdr = "gre.version1_malformed_sre_hdr",
        GreVersion1NoKey = "gre.version1_no_key",
        GreVersion1Recur = "gre.version1_recur",
        GreVersion1Route = "gre.version1_route",
        GreVersion1Ssr = "gre.version1_ssr",
        GreVersion1WrongProtocol = "gre.version1_wrong_protocol",
        GreWrongVersion = "gre.wrong_version",
        Icmpv4Ipv4TruncPkt = "icmpv4.ipv4_trunc_pkt",
        Icmpv4Ipv4UnknownVer = "icmpv4.ipv4_unknown_ver",
        Icmpv4PktTooSmall = "icmpv4.pkt_too_small",
        Icmpv4UnknownCode = "icmpv4.unknown_code",
        Icmpv4UnknownType = "icmpv4.unknown_type",
        Icmpv6ExperimentationType = "icmpv6.experimentation_type",
        Icmpv6Ipv6TruncPkt = "icmpv6.ipv6_trunc_pkt",
        Icmpv6Ipv6UnknownVersion = "icmpv6.ipv6_unknown_version",
        Icmpv6MldMessageWithInvalidHl = "icmpv6.mld_message_with_invalid_hl",
        Icmpv6PktTooSmall = "icmpv6.pkt_too_small",
        Icmpv6UnassignedType = "icmpv6.unassigned_type",
        Icmpv6UnknownCode = "icmpv6.unknown_code",
        Icmpv6UnknownType = "icmpv6.unknown_type",
        Ieee8021ahHeaderTooSmall = "ieee8021ah.header_too_small",
        IgmpMalformed = "igmp.malformed",
        IgmpPktTooSmall = "igmp.pkt_too_small",
        IgmpV3PktTooSmall = "igmp.v3_pkt_too_small",
        IprawInvalidIpVersion = "ipraw.invalid_ip_version",
        Ipv4FragOverlap = "ipv4.frag_overlap",
        Ipv4FragPktTooLarge = "ipv4.frag_pkt_too_large",
        Ipv4HlenTooSmall = "ipv4.hlen_too_small",
        Ipv4Icmpv6 = "ipv4.icmpv6",
        Ipv4IplenSmallerThanHlen = "ipv4.iplen_smaller_than_hlen",
        Ipv4OptDuplicate = "ipv4.opt_duplicate",
        Ipv4OptEolRequired = "ipv4.opt_eol_required",
        Ipv4OptInvalid = "ipv4.opt_invalid",
        Ipv4OptInvalidLen = "ipv4.opt_invalid_len",
        Ipv4OptMalformed = "ipv4.opt_malformed",
        Ipv4OptPadRequired = "ipv4.opt_pad_required",
        Ipv4OptUnknown = "ipv4.opt_unknown",
        Ipv4PktTooSmall = "ipv4.pkt_too_small",
        Ipv4TruncPkt = "ipv4.trunc_pkt",
        Ipv4UnknownProtocol = "ipv4.unknown_protocol",
        Ipv4WrongIpVersion = "ipv4.wrong_ip_version",
        Ipv6DataAfterNoneHeader = "ipv6.data_after_none_header",
        Ipv6DstoptsOnlyPadding = "ipv6.dstopts_only_padding",
        Ipv6DstoptsUnknownOpt = "ipv6.dstopts_unknown_opt",
        Ipv6ExthdrAhResNotNull = "ipv6.exthdr_ah_res_not_null",
        Ipv6ExthdrDuplAh = "ipv6.exthdr_dupl_ah",
        Ipv6ExthdrDuplDh = "ipv6.exthdr_dupl_dh",
        Ipv6ExthdrDuplEh = "ipv6.exthdr_dupl_eh",
        Ipv6ExthdrDuplFh = "ipv6.exthdr_dupl_fh",
        Ipv6ExthdrDuplHh = "ipv6.exthdr_dupl_hh",
        Ipv6ExthdrDuplRh = "ipv6.exthdr_dupl_rh",
        Ipv6ExthdrInvalidOptlen = "ipv6.exthdr_invalid_optlen",
        Ipv6ExthdrUselessFh = "ipv6.exthdr_useless_fh",
        Ipv6FhNonZeroReservedField = "ipv6.fh_non_zero_reserved_field",
        Ipv6FragInvalidLength = "ipv6.frag_invalid_length",
        Ipv6FragOverlap = "ipv6.frag_overlap",
        Ipv6FragPktTooLarge = "ipv6.frag_pkt_too_large",
        Ipv6HopoptsOnlyPadding = "ipv6.hopopts_only_padding",
        Ipv6HopoptsUnknownOpt = "ipv6.hopopts_unknown_opt",
        Ipv6Icmpv4 = "ipv6.icmpv4",
        Ipv6Ipv4InIpv6TooSmall = "ipv6.ipv4_in_ipv6_too_small",
        Ipv6Ipv4InIpv6WrongVersion = "ipv6.ipv4_in_ipv6_wrong_version",
        Ipv6Ipv6InIpv6TooSmall = "ipv6.ipv6_in_ipv6_too_small",
        Ipv6Ipv6InIpv6WrongVersion = "ipv6.ipv6_in_ipv6_wrong_version",
        Ipv6PktTooSmall = "ipv6.pkt_too_small",
        Ipv6RhType0 = "ipv6.rh_type_0",
        Ipv6TruncExthdr = "ipv6.trunc_exthdr",
        Ipv6TruncPkt = "ipv6.trunc_pkt",
        Ipv6UnknownNextHeader = "ipv6.unknown_next_header",
        Ipv6WrongIpVersion = "ipv6.wrong_ip_version",
        Ipv6ZeroLenPadn = "ipv6.zero_len_padn",
        LtnullPktTooSmall = "ltnull.pkt_too_small",
        LtnullUnsupportedType = "ltnull.unsupported_type",
        MplsBadLabelImplicitNull = "mpls.bad_label_implicit_null",
        MplsBadLabelReserved = "mpls.bad_label_reserved",
        MplsBadLabelRouterAlert = "mpls.bad_label_router_alert",
        MplsHeaderTooSmall = "mpls.header_too_small",
        MplsPktTooSmall = "mpls.pkt_too_small",
        MplsUnknownPayloadType = "mpls.unknown_payload_type",
        PppIp4PktTooSmall = "ppp.ip4_pkt_too_small",
        PppIp6PktTooSmall = "ppp.ip6_pkt_too_small",
        PppPktTooSmall = "ppp.pkt_too_small",
        PppUnsupProto = "ppp.unsup_proto",
        PppVjuPktTooSmall = "ppp.vju_pkt_too_small",
        PppWrongType = "ppp.wrong_type",
        PppoeMalformedTags = "pppoe.malformed_tags",
        PppoePktTooSmall = "pppoe.pkt_too_small",
        PppoeWrongCode = "pppoe.wrong_code",
        SllPktTooSmall = "sll.pkt_too_small",
        TcpHlenTooSmall = "tcp.hlen_too_small",
        TcpInvalidOptlen = "tcp.invalid_optlen",
        TcpOptDuplicate = "tcp.opt_duplicate",
        TcpOptInvalidLen = "tcp.opt_invalid_len",
        TcpPktTooSmall = "tcp.pkt_too_small",
        TooManyLayers = "too_many_layers",
        UdpHlenTooSmall = "udp.hlen_too_small",
        UdpLenInvalid = "udp.len_invalid",
        UdpPktTooSmall = "udp.pkt_too_small",
        VlanHeaderTooSmall = "vlan.header_too_small",
        VlanTooManyLayers = "vlan.too_many_layers",
        VlanUnknownType = "vlan.unknown_type",
        VntagHeaderTooSmall = "vntag.header_too_small",
        VntagUnknownType = "vntag.unknown_type",
        SctpPktTooSmall = "sctp.pkt_too_small",
        EspPktTooSmall = "esp.pkt_too_small",
        VxlanUnknownPayloadType = "vxlan.unknown_payload_type",
        GeneveUnknownPayloadType = "geneve.unknown_payload_type",
        Ipv4FragIgnored = "ipv4.frag_ignored",
        Ipv6FragIgnored = "ipv6.frag_ignored",
    }
    stream: {
        HandshakeAckInWrongDir = "3whs_ack_in_wrong_dir",
        HandshakeAsyncWrongSeq = "3whs_async_wrong_seq",
        HandshakeRightSeqWrongAckEvasion = "3whs_right_seq_wrong_ack_evasion",
        HandshakeSynackInWrongDirection = "3whs_synack_in_wrong_direction",
        HandshakeSynackResendWithDifferentAck = "3whs_synack_resend_with_different_ack",
        HandshakeSynackResendWithDiffSeq = "3whs_synack_resend_with_diff_seq",
        HandshakeSynackToserverOnSynRecv = "3whs_synack_toserver_on_syn_recv",
        HandshakeSynackWithWrongAck = "3whs_synack_with_wrong_ack",
        HandshakeSynackFlood = "3whs_synack_flood",
        HandshakeSynackTfoDataIgnored = "3whs_synack_tfo_data_ignored",
        HandshakeSynFlood = "3whs_syn_flood",
        HandshakeSynResendDiffSeqOnSynRecv = "3whs_syn_resend_diff_seq_on_syn_recv",
        HandshakeSynToclientOnSynRecv = "3whs_syn_toclient_on_syn_recv",
        HandshakeWrongSeqWrongAck = "3whs_wrong_seq_wrong_ack",
        HandshakeAckDataInject = "3whs_ack_data_inject",
        FourWaySynackWithWrongAck = "4whs_synack_with_wrong_ack",
        FourWaySynackWithWrongSyn = "4whs_synack_with_wrong_syn",
        FourWayWrongSeq = "4whs_wrong_seq",
        FourWayInvalidAck = "4whs_invalid_ack",
        ClosewaitAckOutOfWindow = "closewait_ack_out_of_window",
        ClosewaitFinOutOfWindow = "closewait_fin_out_of_window",
        ClosewaitInvalidAck = "closewait_invalid_ack",
        ClosingAckWrongSeq = "closing_ack_wrong_seq",
        ClosingInvalidAck = "closing_invalid_ack",
        EstPacketOutOfWindow = "est_packet_out_of_window",
        EstSynackResend = "est_synack_resend",
        EstSynackResendWithDifferentAck = "est_synack_resend_with_different_ack",
        EstSynackResendWithDiffSeq = "est_synack_resend_with_diff_seq",
        EstSynackToserver = "est_synack_toserver",
        EstSynResend = "est_syn_resend",
        EstSynResendDiffSeq = "est_syn_resend_diff_seq",
        EstSynToclient = "est_syn_toclient",
        EstInvalidAck = "est_invalid_ack",
        FinInvalidAck = "fin_invalid_ack",
        Fin1AckWrongSeq = "fin1_ack_wrong_seq",
        Fin1FinWrongSeq = "fin1_fin_wrong_seq",
        Fin1InvalidAck = "fin1_invalid_ack",
        Fin2AckWrongSeq = "fin2_ack_wrong_seq",
        Fin2FinWrongSeq = "fin2_fin_wrong_seq",
        Fin2InvalidAck = "fin2_invalid_ack",
        FinButNoSession = "fin_but_no_session",
        FinOutOfWindow = "fin_out_of_window",
        LastackAckWrongSeq = "lastack_ack_wrong_seq",
        LastackInvalidAck = "lastack_invalid_ack",
        RstButNoSession = "rst_but_no_session",
        TimewaitAckWrongSeq = "timewait_ack_wrong_seq",
        TimewaitInvalidAck = "timewait_invalid_ack",
        PktInvalidTimestamp = "pkt_invalid_timestamp",
        PktInvalidAck = "pkt_invalid_ack",
        PktBrokenAck = "pkt_broken_ack",
        RstInvalidAck = "rst_invalid_ack",
        ShutdownSynResend = "shutdown_syn_resend",
        ReassemblySeqGap = "reassembly_seq_gap",
        ReassemblyOverlapDifferentData = "reassembly_overlap_different_data",
        PktBadWindowUpdate = "pkt_bad_window_update",
        SuspectedRstInject = "suspected_rst_inject",
        EstPktBeforeLastAck = "est_pkt_before_last_ack",
        ClosewaitPktBeforeLastAck = "closewait_pkt_before_last_ack",
        ReassemblySegmentBeforeBaseSeq = "reassembly_segment_before_base_seq",
        PktRetransmission = "pkt_retransmission",
        WrongThread = "wrong_thread",
        FinSyn = "fin_syn",
        PktSpuriousRetransmission = "pkt_spurious_retransmission",
        ReassemblyDepthReached = "reassembly_depth_reached",
        ReassemblyUrgentOobLimitReached = "reassembly_urgent_oob_limit_reached",
        ReassemblyNoSegment = "reassembly_no_segment",
        ReassemblyInsertMemcap = "reassembly_insert_memcap",
        ReassemblyInsertLimit = "reassembly_insert_limit",
        ReassemblyInsertInvalid = "reassembly_insert_invalid",
    }
}

impl Event {
    /// The event of `decode-event:NAME`.
    pub fn from_decode_name(name: &str) -> Option<Self> {
        DECODE.iter().find(|(_, its)| *its == name).map(|(event, _)| *event)
    }

    /// The event of `stream-event:NAME`.
    pub fn from_stream_name(name: &str) -> Option<Self> {
        STREAM.iter().find(|(_, its)| *its == name).map(|(event, _)| *event)
    }

    /// Its name in rules.
    pub fn name(self) -> &'static str {
        let index = self as usize;
        let found = DECODE.get(index).or_else(|| STREAM.get(index.wrapping_sub(DECODE.len())));
        found.map_or("", |(_, name)| name)
    }

    /// Whether it is `stream-event`'s, not `decode-event`'s.
    pub fn is_of_stream(self) -> bool {
        self as u8 >= FIRST_OF_STREAM
    }

    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        DECODE.iter().chain(STREAM).map(|(event, _)| *event)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of [`Event`]s.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Events {
    bits: [u64; 4],
}

impl Events {
    /// Puts one in.
    pub fn add(&mut self, event: Event) {
        self.bits[usize::from(event as u8 >> 6)] |= 1 << (event as u8 & 63);
    }

    /// Puts all of another set in.
    pub fn add_all(&mut self, others: Self) {
        for (bits, more) in self.bits.iter_mut().zip(others.bits) {
            *bits |= more;
        }
    }

    /// Whether it is in.
    pub fn has(&self, event: Event) -> bool {
        self.bits[usize::from(event as u8 >> 6)] >> (event as u8 & 63) & 1 == 1
    }

    /// Whether none is in.
    pub fn is_empty(&self) -> bool {
        self.bits == [0; 4]
    }

    /// Those that are in.
    pub fn iter(self) -> impl Iterator<Item = Event> {
        let all = if self.is_empty() { 0 } else { usize::MAX };
        Event::all().take(all).filter(move |event| self.has(*event))
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Event::name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_there_and_back() {
        for event in Event::all() {
            let found = if event.is_of_stream() { Event::from_stream_name } else { Event::from_decode_name };
            assert_eq!(found(event.name()), Some(event), "{event}");
        }
        assert_eq!(Event::from_stream_name("ipv4.pkt_too_small"), None);
        assert!(Event::all().count() <= 256, "a set has so many bits");
    }

    #[test]
    fn a_set_has_what_was_put_in() {
        let mut events = Events::default();
        assert!(events.is_empty());
        for event in Event::all() {
            assert!(!events.has(event));
            events.add(event);
            assert!(events.has(event));
        }
        assert_eq!(events.iter().count(), Event::all().count());
    }
}
