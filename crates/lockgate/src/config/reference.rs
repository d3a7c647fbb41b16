//! The settings table as people read it: default file, reference, manual page. Rule: nothing here that is not in the table.

use crate::config::keys::{Shown, shown};
use crate::config::table::Info;
use std::fmt::Write;

/// What stands in the default file without a comment sign: enough to serve.
const ACTIVE: &[(&str, &str, &str)] = &[
    ("[[listen]]", "protocol", "\"smtp\""),
    ("[[listen]]", "address", "\"127.0.0.1:2525\""),
    ("[[listen]]", "next_hop", "\"maildir:lockgate-mail\""),
    ("[tls_interception]", "directory", "\"lockgate-authority\""),
];

/// Another listener of the default file, of which nothing but this needs saying.
const SECOND_LISTENER: &str = "
# The web: point browsers at it as their proxy.
[[listen]]
protocol = \"http\"
address = \"127.0.0.1:3128\"
intercept_tls = true
";

const FILE_HEAD: &str = "\
# Lockgate's configuration: every key, with its default. Made by `lockgate reference --toml`.
#
# A key that is commented out has the value shown. `lockgate check` says what was understood; SIGHUP reloads.
# Sizes are numbers of bytes or \"64 KiB\"; times have a unit: \"5 min\". Relative paths start at this file's directory.
";

/// The default configuration file.
pub fn toml() -> String {
    let mut out = FILE_HEAD.to_owned();
    for section in shown() {
        out.push('\n');
        comment(&mut out, section.about);
        let is_used = ACTIVE.iter().any(|(heading, ..)| *heading == section.heading);
        let sign = if is_used { "" } else { "# " };
        let _ = writeln!(out, "{sign}{}", section.heading);
        for row in &section.rows {
            toml_row(&mut out, section.heading, row);
        }
        if section.heading == "[[listen]]" {
            out.push_str(SECOND_LISTENER);
        }
    }
    out
}

fn toml_row(out: &mut String, heading: &str, row: &Info) {
    out.push('\n');
    let kind = if row.kind == "action" { String::new() } else { format!(" ({})", row.kind) };
    comment(out, &format!("{}{kind}", row.help));
    match ACTIVE.iter().find(|(section, name, _)| *section == heading && *name == row.name) {
        Some((_, name, value)) => _ = writeln!(out, "{name} = {value}"),
        None if row.default.is_empty() => _ = writeln!(out, "# {} = \"…\"", row.name),
        None => _ = writeln!(out, "# {} = {}", row.name, row.default),
    }
}

fn comment(out: &mut String, text: &str) {
    for line in wrapped(text, 116) {
        let _ = writeln!(out, "# {line}");
    }
}

/// Breaks a text into lines at spaces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let is_full =
            lines.last().is_some_and(|line| line.len() + 1 + word.len() > width && !line.is_empty());
        if is_full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

const MARKDOWN_HEAD: &str = "\
# Reference

Made from the tables in the program by `lockgate reference --markdown`; a test keeps it up to date.

## Commands
";

const MARKDOWN_SETTINGS: &str = "
## Configuration

One TOML file, everything in it optional. Sizes are numbers of bytes or strings such as `\"64 KiB\"` (B, KiB, MiB, GiB,
kB, MB, GB); times are strings with a unit, such as `\"5 min\"` (ms, s, min, h, d). Relative paths start at the file's own
directory. A key that is not known is an error, which names the nearest one that is.
";

/// The reference, in Markdown; `commands` is the help of each command.
pub fn markdown(commands: &[(String, String)]) -> String {
    let mut out = MARKDOWN_HEAD.to_owned();
    for (name, help) in commands {
        let _ = write!(out, "\n### lockgate {name}\n\n```text\n{}\n```\n", help.trim_end());
    }
    out.push_str(MARKDOWN_SETTINGS);
    for Shown { heading, about, rows } in shown() {
        let _ =
            write!(out, "\n### `{heading}`\n\n{about}\n\n| key | value | default | |\n|---|---|---|---|\n");
        for row in rows {
            let default = if row.default.is_empty() { String::new() } else { format!("`{}`", row.default) };
            let help = row.help.replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {} | {default} | {help} |", row.name, row.kind);
        }
    }
    out
}

/// The manual page, in roff; `commands` is the help of each command.
pub fn man(commands: &[(String, String)], version: &str) -> String {
    let mut out = format!(".TH LOCKGATE 1 \"\" \"Lockgate {version}\" \"\"\n");
    out.push_str(".SH NAME\nlockgate \\- a content\\-security gateway in one process\n");
    out.push_str(".SH SYNOPSIS\n.B lockgate\n.I COMMAND\n[\\fIOPTION\\fR]...\n.SH COMMANDS\n");
    for (name, help) in commands {
        let _ = write!(out, ".SS {}\n.nf\n{}\n.fi\n", escaped(name), escaped(help.trim_end()));
    }
    out.push_str(".SH CONFIGURATION\nOne TOML file, everything in it optional.\n");
    for Shown { heading, about, rows } in shown() {
        let _ = write!(out, ".SS {}\n{}\n", escaped(heading), escaped(about));
        for row in rows {
            let default = if row.default.is_empty() { "" } else { "; default " };
            let _ = write!(
                out,
                ".TP\n\\fB{}\\fR ({}{default}{})\n{}\n",
                escaped(row.name),
                escaped(row.kind),
                escaped(row.default),
                escaped(row.help)
            );
        }
    }
    out
}

/// Text that roff takes for nothing else.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\n', "\n\\&");
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}
