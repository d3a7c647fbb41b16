//! What a test says, as options of `lockgate ids`: [`options`]. Rule: the table is that of docs/conformance.md.

use super::settings::Settings;

/// Where a configuration says what alerts show.
const ALERT: &str = "outputs.eve-log.types.alert";

/// The options for the arguments of Suricata's that a test has, and for its configuration, where it has one of its own.
pub fn options(arguments: &[String], own: Option<&Settings>) -> Vec<String> {
    let (mut options, mut settings) = (Vec::new(), own.cloned().unwrap_or_default());
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-k" if words.next() == Some("none") => add(&mut options, &["--checksums", "ignore"]),
            "--simulate-ips" => settings.set("stream.inline=yes"),
            "--set" => settings.set(words.next().unwrap_or_default()),
            _ => {}
        }
    }
    following(&settings, &mut options);
    asking(&settings, &mut options);
    // The configuration of tests without one of their own shows both.
    let shows = ["payload", "packet"].iter().any(|what| settings.is_yes(&format!("{ALERT}.{what}")));
    if own.is_none() || shows {
        add(&mut options, &["--payload"]);
    }
    telling(&settings, &mut options);
    options
}

fn add(options: &mut Vec<String>, words: &[&str]) {
    options.extend(words.iter().map(|word| (*word).to_owned()));
}

/// How packets are followed.
fn following(settings: &Settings, options: &mut Vec<String>) {
    let (is_inline, is_picked_up) = (settings.is_yes("stream.inline"), settings.is_yes("stream.midstream"));
    for (is_so, option) in [
        (is_inline, "--stop"),
        (is_picked_up, "--midstream"),
        (settings.is_yes("stream.async-oneside"), "--one-sided"),
        (settings.is_no("vlan.use-for-tracking"), "--ignore-vlans"),
    ] {
        if is_so {
            add(options, &[option]);
        }
    }
    let policy = settings.value("stream.midstream-policy");
    match policy.or(settings.value("exception-policy")) {
        Some("bypass" | "pass-flow") => add(options, &["--unbegun", "pass"]),
        Some("drop-flow") => add(options, &["--unbegun", "stop"]),
        // Inline, what a policy of all kinds does of itself is to drop.
        Some("auto") if is_inline && !is_picked_up => add(options, &["--unbegun", "stop"]),
        _ => {}
    }
    match settings.value("stream.reassembly.urgent.policy") {
        Some("oob") => add(options, &["--urgent", "apart"]),
        Some("inline") => add(options, &["--urgent", "within"]),
        _ => {}
    }
    for (system, network) in settings.below("host-os-policy") {
        add(options, &["--target", &format!("{system}={network}")]);
    }
}

/// What rules mean.
fn asking(settings: &Settings, options: &mut Vec<String>) {
    if let Some(file) = settings.value("threshold-file") {
        add(options, &["--rules", file]);
    }
    for group in ["vars.address-groups", "vars.port-groups"] {
        for (name, list) in settings.below(group) {
            add(options, &["--variable", &format!("{name}={list}")]);
        }
    }
    let order: Vec<&str> = settings.values("action-order").collect();
    if !order.is_empty() {
        add(options, &["--action-order", &order.join(",")]);
    }
}

/// What alerts tell.
fn telling(settings: &Settings, options: &mut Vec<String>) {
    if let Some(most) = settings.value("packet-alert-max") {
        add(options, &["--alerts-max", most]);
    }
    if settings.is_yes("detect.guess-applayer-tx") {
        add(options, &["--guess-transactions"]);
    }
    if settings.is_yes(&format!("{ALERT}.xff.enabled")) {
        let is_instead = settings.value("outputs.eve-log.types.alert.xff.mode") == Some("overwrite");
        let deployment = settings.value("outputs.eve-log.types.alert.xff.deployment").unwrap_or("reverse");
        let how = if is_instead { "instead" } else { "beside" };
        add(options, &["--forwarded", how, "--forwarded-by", deployment]);
    }
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
