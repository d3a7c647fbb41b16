//! Names of what programs import by number from the libraries of Windows that are mostly imported so. Rule: a number
//! without a name is `ordN`.
//!
//! The numbers are those of Windows Sockets (version 1.1, appendix "winsock.def") and of OLE Automation.

/// Names with numbers that follow one another: the first number, what all names begin with, and how they go on.
type Run = (u16, &'static str, &'static str);

/// What a library exports under a number.
pub(super) fn imported(library: &[u8], number: u16) -> String {
    let is = |name: &str| {
        library.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()))
    };
    let runs: &[Run] = if is("ws2_32.dll") || is("wsock32.dll") {
        &SOCKETS
    } else if is("oleaut32.dll") {
        &AUTOMATION
    } else {
        &[]
    };
    let mut names = runs.iter().filter_map(|(first, begin, names)| {
        let name = names.split(' ').nth(usize::from(number.checked_sub(*first)?))?;
        Some(format!("{begin}{name}"))
    });
    names.next().unwrap_or_else(|| format!("ord{number}"))
}

const SOCKETS: [Run; 10] = [
    (
        1,
        "",
        "accept bind closesocket connect getpeername getsockname getsockopt htonl htons ioctlsocket inet_addr inet_ntoa \
         listen ntohl ntohs recv recvfrom select send sendto setsockopt shutdown socket",
    ),
    (51, "get", "hostbyaddr hostbyname protobyname protobynumber servbyname servbyport hostname"),
    (
        101,
        "WSA",
        "AsyncSelect AsyncGetHostByAddr AsyncGetHostByName AsyncGetProtoByNumber AsyncGetProtoByName \
         AsyncGetServByPort AsyncGetServByName CancelAsyncRequest SetBlockingHook UnhookBlockingHook GetLastError \
         SetLastError CancelBlockingCall IsBlocking Startup Cleanup",
    ),
    (24, "", "GetAddrInfoW GetNameInfoW WSApSetPostRoutine FreeAddrInfoW WPUCompleteOverlappedRequest"),
    (
        29,
        "WSA",
        "Accept AddressToStringA AddressToStringW CloseEvent Connect CreateEvent DuplicateSocketA DuplicateSocketW \
         EnumNameSpaceProvidersA EnumNameSpaceProvidersW EnumNetworkEvents EnumProtocolsA EnumProtocolsW EventSelect \
         GetOverlappedResult GetQOSByName GetServiceClassInfoA GetServiceClassInfoW GetServiceClassNameByClassIdA \
         GetServiceClassNameByClassIdW Htonl Htons",
    ),
    (
        58,
        "WSA",
        "InstallServiceClassA InstallServiceClassW Ioctl JoinLeaf LookupServiceBeginA LookupServiceBeginW \
         LookupServiceEnd LookupServiceNextA LookupServiceNextW NSPIoctl Ntohl Ntohs ProviderConfigChange Recv \
         RecvDisconnect RecvFrom RemoveServiceClass ResetEvent Send SendDisconnect SendTo SetEvent SetServiceA \
         SetServiceW SocketA SocketW StringToAddressA StringToAddressW WaitForMultipleEvents",
    ),
    (
        87,
        "WSC",
        "DeinstallProvider EnableNSProvider EnumProtocols GetProviderPath InstallNameSpace InstallProvider \
         UnInstallNameSpace UpdateProvider WriteNameSpaceOrder WriteProviderOrder",
    ),
    (97, "", "freeaddrinfo getaddrinfo getnameinfo"),
    (151, "__WSA", "FDIsSet"),
    (500, "", "WEP"),
];

const AUTOMATION: [Run; 70] = [
    (2, "Sys", "AllocString ReAllocString AllocStringLen ReAllocStringLen FreeString StringLen"),
    (8, "Variant", "Init Clear Copy CopyInd ChangeType TimeToDosDateTime"),
    (14, "", "DosDateTimeToVariantTime"),
    (
        15,
        "SafeArray",
        "Create Destroy GetDim GetElemsize GetUBound GetLBound Lock Unlock AccessData UnaccessData GetElement PutElement \
         Copy",
    ),
    (28, "Disp", "GetParam GetIDsOfNames Invoke"),
    (31, "Create", "DispTypeInfo StdDispatch"),
    (33, "", "RegisterActiveObject RevokeActiveObject GetActiveObject"),
    (
        36,
        "SafeArray",
        "AllocDescriptor AllocData DestroyDescriptor DestroyData Redim AllocDescriptorEx CreateEx \
         CreateVectorEx SetRecordInfo GetRecordInfo",
    ),
    (46, "Var", "ParseNumFromStr NumFromParseNum"),
    (48, "VarI2From", "UI1 I4 R4 R8 Cy Date Str Disp Bool"),
    (57, "SafeArray", "SetIID"),
    (58, "VarI4From", "UI1 I2 R4 R8 Cy Date Str Disp Bool"),
    (67, "SafeArray", "GetIID"),
    (68, "VarR4From", "UI1 I2 I4 R8 Cy Date Str Disp Bool"),
    (77, "SafeArray", "GetVartype"),
    (78, "VarR8From", "UI1 I2 I4 R4 Cy Date Str Disp Bool"),
    (87, "Var", "Format"),
    (88, "VarDateFrom", "UI1 I2 I4 R4 R8 Cy Str Disp Bool"),
    (97, "Var", "FormatDateTime"),
    (98, "VarCyFrom", "UI1 I2 I4 R4 R8 Date Str Disp Bool"),
    (107, "Var", "FormatNumber"),
    (108, "VarBstrFrom", "UI1 I2 I4 R4 R8 Cy Date Disp Bool"),
    (117, "Var", "FormatPercent"),
    (118, "VarBoolFrom", "UI1 I2 I4 R4 R8 Date Cy Str Disp"),
    (127, "Var", "FormatCurrency WeekdayName MonthName"),
    (130, "VarUI1From", "I2 I4 R4 R8 Cy Date Str Disp Bool"),
    (146, "", "DispCallFunc VariantChangeTypeEx SafeArrayPtrOfIndex SysStringByteLen SysAllocStringByteLen"),
    (
        161,
        "",
        "LoadTypeLib LoadRegTypeLib RegisterTypeLib QueryPathOfRegTypeLib LHashValOfNameSys LHashValOfNameSysA",
    ),
    (183, "", "LoadTypeLibEx SystemTimeToVariantTime VariantTimeToSystemTime UnRegisterTypeLib"),
    (190, "VarDecFrom", "UI1 I2 I4 R4 R8 Date Cy Str Disp Bool"),
    (200, "", "GetErrorInfo SetErrorInfo CreateErrorInfo"),
    (205, "VarI2From", "I1 UI2 UI4 Dec"),
    (209, "VarI4From", "I1 UI2 UI4 Dec"),
    (213, "VarR4From", "I1 UI2 UI4 Dec"),
    (217, "VarR8From", "I1 UI2 UI4 Dec"),
    (221, "VarDateFrom", "I1 UI2 UI4 Dec"),
    (225, "VarCyFrom", "I1 UI2 UI4 Dec"),
    (229, "VarBstrFrom", "I1 UI2 UI4 Dec"),
    (233, "VarBoolFrom", "I1 UI2 UI4 Dec"),
    (237, "VarUI1From", "I1 UI2 UI4 Dec"),
    (241, "VarDecFrom", "I1 UI2 UI4"),
    (244, "VarI1From", "UI1 I2 I4 R4 R8 Date Cy Str Disp Bool UI2 UI4 Dec"),
    (257, "VarUI2From", "UI1 I2 I4 R4 R8 Date Cy Str Disp Bool I1 UI4 Dec"),
    (270, "VarUI4From", "UI1 I2 I4 R4 R8 Date Cy Str Disp Bool I1 UI2 Dec"),
    (139, "Var", "FormatFromTokens TokenizeFormatString Add And Div"),
    (144, "Dll", "CanUnloadNow GetClassObject"),
    (151, "", "DllRegisterServer VarEqv VarIdiv VarImp VarMod VarMul VarOr VarPow VarSub CreateTypeLib"),
    (167, "Var", "Xor Abs Fix"),
    (
        170,
        "",
        "OaBuildVersion ClearCustData VarInt VarNeg VarNot VarRound VarCmp VarDecAdd VarDecDiv VarDecMul",
    ),
    (180, "", "CreateTypeLib2 VarDecSub VarDecAbs"),
    (187, "VarDec", "Fix Int Neg"),
    (203, "VarDec", "Round Cmp"),
    (283, "BSTR_User", "Size Marshal Unmarshal Free"),
    (287, "VARIANT_User", "Size Marshal Unmarshal Free"),
    (291, "LPSAFEARRAY_", "UserSize UserMarshal UserUnmarshal UserFree Size Marshal Unmarshal"),
    (298, "", "VarDecCmpR8 VarCyAdd DllUnregisterServer OACreateTypeLib2"),
    (303, "VarCy", "Mul MulI4 Sub Abs Fix Int Neg Round Cmp CmpR8"),
    (313, "Var", "BstrCat BstrCmp R8Pow R4CmpR8 R8Round Cat DateFromUdateEx"),
    (322, "GetRecordInfoFrom", "Guids TypeInfo"),
    (325, "", "SetVarConversionLocaleSetting GetVarConversionLocaleSetting SetOaNoCache"),
    (329, "", "VarCyMulI8 VarDateFromUdate VarUdateFromDate GetAltMonthNames"),
    (333, "VarI8From", "UI1 I2 R4 R8 Cy Date Str Disp Bool I1 UI2 UI4 Dec"),
    (346, "Var", "I2FromI8 I2FromUI8 I4FromI8 I4FromUI8"),
    (
        360,
        "Var",
        "R4FromI8 R4FromUI8 R8FromI8 R8FromUI8 DateFromI8 DateFromUI8 CyFromI8 CyFromUI8 BstrFromI8 \
         BstrFromUI8 BoolFromI8 BoolFromUI8 UI1FromI8 UI1FromUI8 DecFromI8 DecFromUI8 I1FromI8 I1FromUI8 UI2FromI8 \
         UI2FromUI8",
    ),
    (401, "OleLoadPicture", "Ex FileEx"),
    (411, "", "SafeArrayCreateVector SafeArrayCopyData VectorFromBstr BstrFromVector OleIconToCursor"),
    (
        416,
        "Ole",
        "CreatePropertyFrameIndirect CreatePropertyFrame LoadPicture CreatePictureIndirect \
         CreateFontIndirect TranslateColor LoadPictureFile SavePictureFile LoadPicturePath",
    ),
    (425, "Var", "UI4FromI8 UI4FromUI8 I8FromUI8 UI8FromI8"),
    (429, "VarUI8From", "UI1 I2 R4 R8 Cy Date Str Disp Bool I1 UI2 UI4 Dec"),
    (442, "", "RegisterTypeLibForUser UnRegisterTypeLibForUser"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_name_each() {
        for runs in [&SOCKETS[..], &AUTOMATION[..]] {
            let mut numbers: Vec<u16> = runs
                .iter()
                .flat_map(|(first, _, names)| names.split(' ').zip(*first..).map(|(_, n)| n))
                .collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all);
        }
        let cases = [
            ("WS2_32.dll", 23, "socket"),
            ("wsock32.DLL", 111, "WSAGetLastError"),
            ("ws2_32.dll", 150, "ord150"),
            ("OLEAUT32.dll", 2, "SysAllocString"),
            ("oleaut32.dll", 150, "SysAllocStringByteLen"),
            ("oleaut32.dll", 443, "UnRegisterTypeLibForUser"),
            ("mfc42.dll", 2, "ord2"),
            ("ws2", 2, "ord2"),
        ];
        for (library, number, want) in cases {
            assert_eq!(imported(library.as_bytes(), number), want);
        }
    }
}
