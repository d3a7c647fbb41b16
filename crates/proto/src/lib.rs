//! Sans-io protocols: SMTP and POP3.
