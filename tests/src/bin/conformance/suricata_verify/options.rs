//! What a test says, as options of `lockgate ids`: [`options`]. Rule: the table is that of docs/conformance.md.

use super::settings::Settings;

/// Where a configuration says what alerts show.
const ALERT: &str = "outputs.eve-log.types.alert";

/// The options for the arguments of Suricata's that a test has, and for its configuration, where it has one of its own.
pub fn options(arguments: &[String], own: Option<&Settings>) -> Vec<String> {
    let mut options = Vec::new();
    let mut add = |words: &[&str]| options.extend(words.iter().map(|word| (*word).to_owned()));
    let mut said = Settings::default();
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-k" if words.next() == Some("none") => add(&["--checksums", "ignore"]),
            "--simulate-ips" => said.set("stream.inline=yes"),
            "--set" => said.set(words.next().unwrap_or_default()),
            _ => {}
        }
    }
    let nothing = Settings::default();
    let both = [&said, own.unwrap_or(&nothing)];
    let value = |path: &'static str| both.iter().find_map(|settings| settings.value(path));
    let is_yes = |path: &str| both.iter().any(|settings| settings.is_yes(path));
    if is_yes("stream.inline") {
        add(&["--stop"]);
    }
    if is_yes("stream.midstream") {
        add(&["--midstream"]);
    }
    if is_yes("stream.async-oneside") {
        add(&["--one-sided"]);
    }
    if let Some(most) = value("packet-alert-max") {
        add(&["--alerts-max", most]);
    }
    let xff = |name: &str| own.and_then(|own| own.value(&format!("{ALERT}.xff.{name}")).map(str::to_owned));
    if xff("enabled").as_deref() == Some("yes") {
        let how = if xff("mode").as_deref() == Some("overwrite") { "instead" } else { "beside" };
        let deployment = xff("deployment").unwrap_or_else(|| "reverse".to_owned());
        add(&["--forwarded", how, "--forwarded-by", &deployment]);
    }
    match value("stream.midstream-policy") {
        Some("bypass" | "pass-flow") => add(&["--unbegun", "pass"]),
        Some("drop-flow") => add(&["--unbegun", "stop"]),
        // Inline, what a policy of all kinds does of itself is to drop.
        None if value("exception-policy") == Some("auto")
            && is_yes("stream.inline")
            && !is_yes("stream.midstream") =>
        {
            add(&["--unbegun", "stop"]);
        }
        _ => {}
    }
    if both.iter().any(|settings| settings.is_no("vlan.use-for-tracking")) {
        add(&["--ignore-vlans"]);
    }
    if let Some(file) = value("threshold-file") {
        add(&["--rules", file]);
    }
    for settings in both {
        for (system, network) in settings.below("host-os-policy") {
            add(&["--target", &format!("{system}={network}")]);
        }
        for group in ["vars.address-groups", "vars.port-groups"] {
            for (name, list) in settings.below(group) {
                add(&["--variable", &format!("{name}={list}")]);
            }
        }
    }
    let order: Vec<&str> = both.iter().flat_map(|settings| settings.values("action-order")).collect();
    if !order.is_empty() {
        add(&["--action-order", &order.join(",")]);
    }
    // The configuration of tests without one of their own has both.
    let shows =
        |own: &Settings| ["payload", "packet"].iter().any(|what| own.is_yes(&format!("{ALERT}.{what}")));
    if own.is_none_or(shows) {
        add(&["--payload"]);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_say() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let own =
            Settings::parse("action-order:\n  - drop\n  - pass\nhost-os-policy:\n  linux: [10.0.0.1]\n");
        let cases = [
            ("-k none --set stream.midstream=true", None, "--checksums ignore --midstream --payload"),
            ("--simulate-ips --runmode=single", None, "--stop --payload"),
            ("--set vlan.use-for-tracking=false", None, "--ignore-vlans --payload"),
            ("-k all", Some(&own), "--target linux=10.0.0.1 --action-order drop,pass"),
        ];
        for (arguments, own, expected) in cases {
            assert_eq!(options(&words(arguments), own), words(expected));
        }
    }
}
