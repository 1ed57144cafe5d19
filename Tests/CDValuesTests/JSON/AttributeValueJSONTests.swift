import CDValues
import SeededRandom
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Attribute values as JSON")
struct AttributeValueJSONTests {
  static let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255))

  @Test(arguments: [
    (AttributeValue.null, "null"), (.bool(true), "true"), (.int(.max), "9223372036854775807"),
    (.string("x"), #""x""#), (.double(1), #"{"$double":1.0}"#), (.double(.infinity), #"{"$double":"inf"}"#),
    (.double(-.infinity), #"{"$double":"-inf"}"#), (.double(-0.0), #"{"$double":-0.0}"#),
    (.date(Date(timeIntervalSinceReferenceDate: 0.1)), #"{"$referenceDate":0.1}"#),
    (.data(Data([0, 1, 255])), #"{"$data":"AAH/"}"#), (.data(Data()), #"{"$data":""}"#),
    (.uuid(id), #"{"$uuid":"01020304-0506-0708-090A-0B0C0D0E0FFF"}"#),
    (.composite([:]), #"{"$composite":{}}"#),
    (
      .composite(["zip": .string("1"), "city": .null, "Z": .composite(["x": .double(2)])]),
      #"{"$composite":{"Z":{"$composite":{"x":{"$double":2.0}}},"city":null,"zip":"1"}}"#
    ),
  ])
  func `Each kind has one form, which reads back as the same`(value: AttributeValue, text: String) throws {
    #expect(value.jsonValue().canonicalText == text)
    #expect(try AttributeValue(jsonValue: JSONValue(parsing: text)) == value)
  }

  @Test(arguments: [
    (#"{"$double":"1e3"}"#, AttributeValue.double(1000)), (#"{"$double":"inf"}"#, .double(.infinity)),
    (#"{"$double":9007199254740993}"#, .double(9_007_199_254_740_992)),
    (#"{"$date":9007199254740993}"#, .date(Date(timeIntervalSince1970: 9_007_199_254_740_992))),
    (#"{"$decimal":"+.5"}"#, .decimal(Decimal(1) / 2)),
    (#"{"$composite":{"a":{"$double":"2"}}}"#, .composite(["a": .double(2)])),
    (#"{"$uuid":"01020304-0506-0708-090A-0B0C0D0E0FFF"}"#, .uuid(id)),
  ])
  func `Numbers that people write are read on request`(text: String, value: AttributeValue) throws {
    #expect(try AttributeValue(decoding: JSONElement(JSONValue(parsing: text)), .rounded) == value)
  }

  @Test(arguments: [
    (#"{"$double":"x"}"#, "$double: expected a number, found 'x'"),
    (#"{"$date":"1"}"#, "$date: expected a number, found a string"),
    (#"{"$decimal":"NaN"}"#, "$decimal: expected a decimal, found 'NaN'"),
    (#"{"$decimal":1}"#, "$decimal: expected a string, found an integer"),
  ])
  func `Other numbers are refused`(text: String, message: String) throws {
    let element = JSONElement(try JSONValue(parsing: text))
    let error = #expect(throws: ModelDecodingError.self) {
      try AttributeValue(decoding: element, .rounded)
    }
    #expect(error?.description == message)
  }

  @Test func `A URL reads back`() throws {
    let url = try #require(URL(string: "https://example.org/a?b=c#d"))
    #expect(
      AttributeValue.url(url).jsonValue().canonicalText == #"{"$url":"https://example.org/a?b=c#d"}"#)
    #expect(try AttributeValue(jsonValue: AttributeValue.url(url).jsonValue()) == .url(url))
  }

  @Test(arguments: [
    ("1.50", "1.5"), ("-0.010", "-0.01"), ("100", "100"), ("0", "0"), ("1e2", "100"), ("125e-2", "1.25"),
    ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
    ("0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"),
    ("1e127", "1" + String(repeating: "0", count: 127)),
    ("1e-128", "0." + String(repeating: "0", count: 127) + "1"), ("NaN", "NaN"),
  ])
  func `Equal decimals have one text`(text: String, canonical: String) throws {
    let value = try AttributeValue(jsonValue: .object([.init("$decimal", .string(text))]))
    #expect(value.jsonValue() == .object([.init("$decimal", .string(canonical))]))
    #expect(try AttributeValue(jsonValue: value.jsonValue()) == value)
  }

  @Test(arguments: [
    "", ".", "1.", ".5", "1.5abc", " 1", "+1", "1e", "1e128", "1e-129", "inf", "0x1", "1,5",
    "1.00000000000000000000000000000000000000000000001",
  ])
  func `A decimal that would be changed is refused`(text: String) {
    #expect(
      throws: ModelDecodingError(
        .invalidValue(found: text, expected: "a decimal of at most 38 digits"), path: "$decimal")
    ) {
      try AttributeValue(jsonValue: .object([.init("$decimal", .string(text))]))
    }
  }

  @Test func `Dates are exact`() throws {
    var random = SplitMix(seed: 1)
    for _ in 0..<1000 {
      let date = Date(timeIntervalSinceReferenceDate: .random(in: -1e10...1e10, using: &random))
      let value = AttributeValue.date(date)
      #expect(try AttributeValue(jsonValue: JSONValue(parsing: value.jsonValue().canonicalText)) == value)
      let shifted = try AttributeValue(jsonValue: value.jsonValue(dates: .since1970))
      guard case .date(let read) = shifted else {
        Issue.record("no date: \(shifted)")
        continue
      }
      #expect(abs(read.timeIntervalSince(date)) < 1e-5)
    }
    #expect(
      AttributeValue.date(Date(timeIntervalSince1970: 1.5)).jsonValue(dates: .since1970).canonicalText
        == #"{"$date":1.5}"#)
  }

  @Test func `NaN is kept`() throws {
    let value = AttributeValue.double(.nan).jsonValue()
    #expect(value.canonicalText == #"{"$double":"nan"}"#)
    guard case .double(let read) = try AttributeValue(jsonValue: value) else {
      Issue.record("no double")
      return
    }
    #expect(read.isNaN)
  }

  @Test func `Plain numbers are taken for what they look like`() throws {
    #expect(try AttributeValue(jsonValue: .double(1.5)) == .double(1.5))
    #expect(try AttributeValue(jsonValue: JSONValue(parsing: #"{"$double":1}"#)) == .double(1))
  }

  @Test(arguments: [
    ("[]", ModelDecodingError(.wrongKind(expected: "a value", found: "a list"), path: "")),
    ("{}", ModelDecodingError(.invalidValue(found: "{}", expected: "one tag"), path: "")),
    (#"{"$what":1}"#, ModelDecodingError(.unknownMember("$what"), path: "")),
    (
      #"{"$double":"1"}"#,
      ModelDecodingError(.wrongKind(expected: "a number", found: "a string"), path: "$double")
    ),
    (
      #"{"$double":9007199254740993}"#,
      ModelDecodingError(
        .invalidValue(found: "9007199254740993", expected: "a number that a Double holds exactly"),
        path: "$double")
    ),
    (#"{"$uuid":"1"}"#, ModelDecodingError(.invalidValue(found: "1", expected: "a UUID"), path: "$uuid")),
    (#"{"$data":"?"}"#, ModelDecodingError(.invalidValue(found: "?", expected: "base64"), path: "$data")),
    (#"{"$url":""}"#, ModelDecodingError(.invalidValue(found: "", expected: "a URL"), path: "$url")),
    (
      #"{"$composite":{"a":{"$date":true}}}"#,
      ModelDecodingError(
        .wrongKind(expected: "a number", found: "a Boolean"), path: "$composite.a.$date")
    ),
  ])
  func `What is no value is refused`(text: String, error: ModelDecodingError) throws {
    let json = try JSONValue(parsing: text)
    #expect(throws: error) { try AttributeValue(jsonValue: json) }
  }
}
