//! What is odd about HTTP, as `app-layer-event` names it: [`of_request`], [`of_response`]. Rule: Suricata's names where it has one for it.

use lockgate_proto::http::Refusal;

/// What rules call it in a request.
pub fn of_request(quirk: Refusal) -> Option<&'static str> {
    Some(match quirk {
        Refusal::HostMissing => "http.missing_host_header",
        Refusal::HostBad => "http.request_header_host_invalid",
        Refusal::HostDiffers => "http.host_header_ambiguous",
        Refusal::HostRepeated => "http.request_header_repetition",
        Refusal::BadStartLine => "http.request_line_invalid",
        Refusal::BadTarget | Refusal::UnknownScheme | Refusal::UserInfo => "http.request_uri_host_invalid",
        Refusal::FieldWithoutColon => "http.request_field_missing_colon",
        Refusal::BadFieldName | Refusal::FieldNameSpace => "http.request_header_invalid",
        Refusal::ObsFold => "http.invalid_request_field_folding",
        Refusal::BadLength => "http.invalid_content_length_field_in_request",
        Refusal::ConflictingLengths => "http.duplicate_content_length_field_in_request",
        Refusal::UnknownTransferCoding => "http.invalid_transfer_encoding_value_in_request",
        Refusal::BadChunk => "http.invalid_request_chunk_len",
        Refusal::ChunkExtension => "http.request_chunk_extension",
        Refusal::BodyNotAllowed => "http.request_body_unexpected",
        Refusal::TooManyFields => "http.request_too_many_headers",
        Refusal::HeadTooLong => "http.request_field_too_long",
        _ => return None,
    })
}

/// What rules call it in a response.
pub fn of_response(quirk: Refusal) -> Option<&'static str> {
    Some(match quirk {
        Refusal::BadStartLine | Refusal::BadVersion => "http.response_invalid_protocol",
        Refusal::BadStatus => "http.response_invalid_status",
        Refusal::FieldWithoutColon => "http.response_field_missing_colon",
        Refusal::BadFieldName | Refusal::FieldNameSpace => "http.response_header_invalid",
        Refusal::ObsFold => "http.invalid_response_field_folding",
        Refusal::BadLength => "http.invalid_content_length_field_in_response",
        Refusal::ConflictingLengths => "http.duplicate_content_length_field_in_response",
        Refusal::UnknownTransferCoding => "http.invalid_transfer_encoding_value_in_response",
        Refusal::TransferCodingInHttp10 => "http.response_chunked_old_proto",
        Refusal::BadChunk => "http.invalid_response_chunk_len",
        Refusal::TooManyFields => "http.response_too_many_headers",
        Refusal::HeadTooLong => "http.response_field_too_long",
        _ => return None,
    })
}
