//! What a process shows at `--metrics`, read as Prometheus and probes read it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::Job;

/// A page, by its address.
#[derive(Debug, Clone)]
pub struct Page(String);

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub content_type: String,
    pub body: String,
}

impl Page {
    /// The page that a process has said it shows.
    pub fn of(job: &mut Job) -> Page {
        job.await_words("metrics and health at http://");
        let said = job.err();
        let (_, rest) = said.split_once("metrics and health at http://").unwrap();
        Page(rest.split_once('/').unwrap().0.to_owned())
    }

    pub fn get(&self, path: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.0).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.0).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let content_type = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, content_type: content_type.to_owned(), body: body.to_owned() }
    }

    /// Every sample, by its name with labels as they are written.
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let answer = self.get("/metrics");
        assert_eq!((answer.status, answer.content_type.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
        samples(&answer.body)
    }

    pub fn metric(&self, sample: &str) -> f64 {
        let metrics = self.metrics();
        *metrics.get(sample).unwrap_or_else(|| panic!("no {sample} in {metrics:#?}"))
    }
}

/// Reads Prometheus' text format as strictly as `promtool check metrics`: every sample follows the help and the type of its
/// metric, metrics come once, names are of the right form, counters end in `_total`.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut helped, mut metric, mut kind) = ("", "", "");
    assert!(text.ends_with('\n'), "the last line ends");
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect(line);
            assert!(!words.is_empty() && is_name(name), "{line}");
            helped = name;
        } else if let Some(typed) = line.strip_prefix("# TYPE ") {
            (metric, kind) = typed.split_once(' ').expect(line);
            assert_eq!(metric, helped, "help comes before the type");
            assert!(kinds.insert(metric, kind).is_none(), "{metric} comes twice");
            assert_eq!(kind == "counter", metric.ends_with("_total"), "{line}");
        } else {
            let (sample, value) = line.rsplit_once(' ').expect(line);
            let name = sample.split('{').next().unwrap();
            let of_histogram = ["_bucket", "_sum", "_count"].map(|end| format!("{metric}{end}"));
            assert!(name == metric || (kind == "histogram" && of_histogram.iter().any(|one| one == name)), "{line}");
            if let Some((_, labels)) = sample.split_once('{') {
                let labels = labels.strip_suffix('}').expect(line);
                assert!(labels.split("\",").all(|label| is_name(label.split_once("=\"").expect(line).0)), "{line}");
            }
            let value = if value == "+Inf" { f64::INFINITY } else { value.parse().expect(line) };
            assert!(samples.insert(sample.to_owned(), value).is_none(), "{sample} comes twice");
        }
    }
    samples
}

fn is_name(name: &str) -> bool {
    let letters = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    letters && name.starts_with(|first: char| first.is_ascii_alphabetic())
}
