//! The rows of `[page]`. Rule: one row for each key; its default is the one that the code has, which a test checks.

use crate::config::draft::Draft;
use crate::config::table::{Section, key};

/// What the section is about.
pub const ABOUT: &str = "What stands on the pages that people get in place of those that are not let through. They are in \
                         English or German, as the browser asks.";

/// `[page]`: pages for people.
pub const PAGE: Section<Draft> = Section {
    name: "page",
    keys: &[
        key("organisation", "text", "\"\"", "Whose gateway it is, above the page.", |d, v| {
            v.text().map(|text| d.settings.page.organisation = text.to_owned())
        }),
        key(
            "contact",
            "text",
            "\"\"",
            "Whom to ask: an address of mail (`it@example.org`), of a page (`https://…`), a number (`tel:…`), or words.",
            |d, v| v.text().map(|text| d.settings.page.contact = text.to_owned()),
        ),
        key(
            "template",
            "path",
            "",
            "A page of your own to make them from, read anew on SIGHUP: HTML in which `{{title}}`, `{{what}}`, `{{reasons}}` \
             (elements of a list), `{{advice}}`, `{{address}}`, `{{id}}`, `{{contact}}` and `{{bypass}}` (paragraphs, or \
             nothing), `{{lang}}`, `{{organisation}}`, `{{hostname}}`, `{{sort}}`, `{{address_label}}`, `{{why_label}}` and \
             `{{number_label}}` stand for what is to be said. Another name there is an error.",
            |d, v| v.path().map(|path| d.settings.page.template = Some(path)),
        ),
    ],
    below: &[],
};
