//! What is odd about a handshake: [`Oddity`]. Rule: each has the name that rules have for it.

/// What is odd about a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Oddity {
    /// The first bytes are no record.
    InvalidTlsHeader,
    /// A record of a version that is none.
    InvalidRecordVersion,
    /// A record of a kind that is none.
    InvalidRecordType,
    /// A record longer than it may be.
    InvalidRecordLength,
    /// A message that this side does not send.
    InvalidHandshakeMessage,
    /// A message or a field in it that is not as long as what holds it says, or longer than what is read.
    HandshakeInvalidLength,
    /// An alert that is not two bytes.
    InvalidAlertMessage,
    /// A heartbeat (RFC 6520) that is neither request nor response, or with less padding than it must have.
    InvalidHeartbeatMessage,
    /// One that says it has more in it than it has (CVE-2014-0160).
    OverflowHeartbeatMessage,
    /// Two server names.
    MultipleSniExtensions,
    /// A server name that is no host name.
    InvalidSniType,
    /// One longer than a host name can be.
    InvalidSniLength,
    /// A certificate that cannot be read, for none of the following reasons.
    InvalidCertificate,
    /// One that ends before its end.
    CertificateInvalidLength,
    /// Its version.
    CertificateInvalidVersion,
    /// Its serial number.
    CertificateInvalidSerial,
    /// The name of an algorithm.
    CertificateInvalidAlgorithm,
    /// Its subject or issuer.
    CertificateInvalidName,
    /// When it is valid.
    CertificateInvalidDate,
    /// Its extensions.
    CertificateInvalidExtensions,
    /// Its encoding.
    CertificateInvalidDer,
}

impl Oddity {
    /// Its name in rules (`app-layer-event`).
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidTlsHeader => "tls.invalid_tls_header",
            Self::InvalidRecordVersion => "tls.invalid_record_version",
            Self::InvalidRecordType => "tls.invalid_record_type",
            Self::InvalidRecordLength => "tls.invalid_record_length",
            Self::InvalidHandshakeMessage => "tls.invalid_handshake_message",
            Self::HandshakeInvalidLength => "tls.handshake_invalid_length",
            Self::InvalidAlertMessage => "tls.invalid_alert_message",
            Self::InvalidHeartbeatMessage => "tls.invalid_heartbeat_message",
            Self::OverflowHeartbeatMessage => "tls.overflow_heartbeat_message",
            Self::MultipleSniExtensions => "tls.multiple_sni_extensions",
            Self::InvalidSniType => "tls.invalid_sni_type",
            Self::InvalidSniLength => "tls.invalid_sni_length",
            Self::InvalidCertificate => "tls.invalid_certificate",
            Self::CertificateInvalidLength => "tls.certificate_invalid_length",
            Self::CertificateInvalidVersion => "tls.certificate_invalid_version",
            Self::CertificateInvalidSerial => "tls.certificate_invalid_serial",
            Self::CertificateInvalidAlgorithm => "tls.certificate_invalid_algorithmidentifier",
            Self::CertificateInvalidName => "tls.certificate_invalid_x509name",
            Self::CertificateInvalidDate => "tls.certificate_invalid_date",
            Self::CertificateInvalidExtensions => "tls.certificate_invalid_extensions",
            Self::CertificateInvalidDer => "tls.certificate_invalid_der",
        }
    }
}
