import Foundation
import Testing

@testable import CDRuntime

/// Binary files whose checksums are right, and whose bytes somebody else has chosen.
@Suite(.onceForAllKinds) struct HostileBinaryTests {
  private typealias Tag = BinaryStoreFormat.Tag

  private let file: HostileFile
  private let metadata: [String: String]

  init() throws {
    file = try HostileFile()
    struct Document: Decodable { let metadata: [String: String] }
    metadata = try JSONDecoder().decode(Document.self, from: file.make(.json)).metadata
  }

  private func file(_ fill: (inout BinaryBlockWriter) throws -> Void) throws -> Data {
    let descriptor = open(file.url.path, O_RDWR | O_CREAT | O_TRUNC, 0o644)
    defer { close(descriptor) }
    let output = StoreOutput(descriptor, of: file.url)
    try output.write(BinaryStoreFormat.magic + [1, 0, 0, 0])
    var writer = BinaryBlockWriter(output)
    try fill(&writer)
    try writer.finish()
    try output.flush()
    return try Data(contentsOf: file.url)
  }

  private func reason(_ fill: (inout BinaryBlockWriter) throws -> Void) throws -> StoreFormatError.Reason? {
    let outcome = try file.outcome(file(fill), .binary)
    if let error = outcome.error { #expect(error.offset != nil || isOfAll(error), "\(error)") }
    return outcome.error?.reason
  }

  /// Whether an error is found when all has been read, and names an object instead of a place.
  private func isOfAll(_ error: StoreFormatError) -> Bool {
    switch error.reason {
    case .notUnique, .danglingReference: true
    default: false
    }
  }

  private func write(_ metadata: [String: String], _ writer: inout BinaryBlockWriter) throws {
    writer.count(metadata.count)
    for (key, value) in metadata {
      try writer.text(key)
      try writer.text(value)
    }
  }

  /// A store with one table of one row.
  private func reason(
    _ table: String, _ columns: [String], _ row: [StoreValue], kind: UInt8 = 1, times: Int = 1
  ) throws -> StoreFormatError.Reason? {
    try reason { writer in
      try write(metadata, &writer)
      writer.count(times)
      for _ in 0..<times {
        writer.byte(kind)
        try writer.text(table)
        writer.count(columns.count)
        for column in columns { try writer.text(column) }
        var before = [Int64](repeating: 0, count: row.count)
        writer.byte(1)
        for (place, value) in row.enumerated() { try writer.value(value, after: &before[place]) }
        writer.byte(0)
      }
    }
  }

  @Test func aStoreMadeLikeThisIsOne() throws {
    #expect(
      try reason("Tag", ["_key", "_version", "name"], [.integer(1), .integer(1), .text("a")]) == nil)
  }

  @Test func countsBeyondTheFileAreNotBelieved() throws {
    let clock = ContinuousClock()
    let start = clock.now
    let tooGreat = StoreFormatError.Reason.syntax("a number that is too large")
    #expect(try reason { $0.varint(.max) } == tooGreat)
    #expect(try reason { $0.varint(1_000_000_000) } == .truncated)
    let text = try reason { writer in
      writer.count(1)
      writer.count(1_000_000_000)
    }
    #expect(text == .truncated)
    let endless = try reason { writer in for _ in 0..<20 { writer.byte(0xFF) } }
    #expect(endless == tooGreat)
    let tables = try reason { writer in
      try write(metadata, &writer)
      writer.count(1_000_000_000)
    }
    #expect(tables == .truncated)
    let columns = try reason { writer in
      try write(metadata, &writer)
      writer.count(1)
      writer.byte(1)
      try writer.text("Tag")
      writer.count(900_000_000)
    }
    #expect(columns == .truncated)
    #expect(clock.now - start < .seconds(60))
  }

  @Test func metadataThatAreNoneAreRefused() throws {
    #expect(try reason { $0.count(0) } == .metadata(key: "formatVersion"))
    let twice = try reason { writer in
      writer.count(2)
      for text in ["a", "b", "a", "c"] { try writer.text(text) }
    }
    #expect(twice == .metadata(key: "a"))
    let noText = try reason { writer in
      writer.count(1)
      for byte in [2, 0xC3, 0x28] as [UInt8] { writer.byte(byte) }
    }
    #expect(noText == .encoding)
    let deep = String(repeating: "[", count: 100_000)
    for (key, value, found) in [
      ("version", deep, "version"), ("version", "{}", "version"), ("dataHash", "0", "dataHash"),
      ("storeUUID", "1", "storeUUID"), ("versionNumber", "one", "versionNumber"),
      ("formatVersion", "99999999999999999999", "formatVersion"),
    ] {
      var changed = metadata
      changed[key] = value
      let reason = try reason { writer in
        try write(changed, &writer)
        writer.count(0)
      }
      #expect(reason == .metadata(key: found), "\(key): \(value.prefix(20))")
    }
  }

  @Test func tablesAndColumnsThatAreNoneAreRefused() throws {
    #expect(try reason("Tug", [], []) == .unknownEntity("Tug"))
    #expect(try reason("Tag", [], [], kind: 0) == .unknownEntity("Tag"))
    #expect(try reason("Tag", [], [], kind: 4) == .syntax("a table of unknown kind"))
    #expect(try reason("Tag", ["_key", "nome"], []) == .unknownProperty(entity: "Tag", property: "nome"))
    #expect(try reason("Tag", ["_key", "_key"], []) == .unknownProperty(entity: "Tag", property: "_key"))
    #expect(try reason("Tag", [], []) == .invalidRow(entity: "Tag", key: nil))
    #expect(
      try reason(
        "Tag", ["_key", "_version", "name"], [.integer(1), .integer(1), .text("a")], times: 2)
        == .duplicateKey(entity: "Tag", key: 1))
  }

  @Test func rowsThatAreNoneAreRefused() throws {
    func row(_ bytes: [UInt8]) throws -> StoreFormatError.Reason? {
      try reason { writer in
        try write(metadata, &writer)
        writer.count(1)
        writer.byte(1)
        try writer.text("Tag")
        writer.count(1)
        try writer.text("name")
        for byte in bytes { writer.byte(byte) }
      }
    }
    #expect(try row([7]) == .syntax("neither a row nor the end of a table"))
    #expect(try row([1, 6]) == .syntax("a value of unknown type"))
    #expect(try row([1, 7]) == .syntax("a value of unknown type"))
    #expect(
      try row([1, Tag.integer] + [UInt8](repeating: 0xFF, count: 12)) == .syntax("a number that is too large")
    )
    #expect(try row([1, Tag.text, 0xFF, 0xFF, 0xFF, 0x7F]) == .truncated)
    #expect(try row([1, Tag.shortText + 2, 0xC3, 0x28]) == .encoding)
    #expect(try row([1, Tag.real, 0]) == .truncated)
    #expect(try row([0, 0]) == .syntax("bytes after the last table"))
  }

  @Test func keysAndVersionsOutOfRangeAreRefused() throws {
    let keys: [StoreValue] = [
      .null, .integer(0), .integer(-1), .integer(.max), .integer(.max - 1), .integer(1 << 62), .integer(.min),
    ]
    for key in keys {
      #expect(
        try reason("Tag", ["_key", "_version", "name"], [key, .integer(1), .text("a")])
          == .invalidRow(entity: "Tag", key: nil), "\(key)")
    }
    for version in [.null, .integer(-1), .integer(1 << 32)] as [StoreValue] {
      #expect(
        try reason("Tag", ["_key", "_version", "name"], [.integer(4), version, .text("a")])
          == .invalidValue(entity: "Tag", property: "_version", key: 4), "\(version)")
    }
    for row in [[.null, .integer(1)], [.text("Tag"), .integer(.max)]] as [[StoreValue]] {
      #expect(
        try reason("_keys", ["_entity", "_next"], row, kind: 0) == .invalidRow(entity: "_keys", key: nil))
    }
  }

  @Test(arguments: [
    ("Tag", "name", StoreValue.null), ("Tag", "name", .integer(1)), ("Tag", "name", .bytes(Data([65]))),
    ("Review", "stars", .integer(40_000)), ("Review", "stars", .integer(-32_769)),
    ("Review", "stars", .text("5")), ("Review", "stars", .real(1)), ("Review", "book", .text("1")),
    ("Magazine", "issue", .integer(1 << 31)), ("Magazine", "uuid", .bytes(Data(count: 15))),
    ("Magazine", "uuid", .text("x")), ("Book", "price", .text("9,99")), ("Book", "price", .text("NaN")),
    ("Book", "added", .real(.nan)), ("Book", "added", .text("today")), ("Book", "priority", .integer(99_999)),
  ]) func valuesOutOfRangeAreRefused(_ entity: String, _ property: String, _ value: StoreValue) throws {
    #expect(
      try reason(entity, ["_key", "_version", property], [.integer(3), .integer(1), value])
        == .invalidValue(entity: entity, property: property, key: 3))
  }

  @Test func referencesThatLeadNowhereAreRefused() throws {
    #expect(
      try reason(
        "Review", ["_key", "_version", "stars", "book"], [.integer(3), .integer(1), .integer(5), .integer(9)])
        == .danglingReference(entity: "Review", key: 3, destination: "Publication"))
    #expect(
      try reason("Book.tags", ["_source", "_target"], [.integer(7), .integer(9)], kind: 2)
        == .danglingReference(entity: "Book.tags", key: 7, destination: "Tag"))
  }
}
