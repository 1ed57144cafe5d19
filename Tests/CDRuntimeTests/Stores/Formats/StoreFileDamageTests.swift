import Foundation
import Testing

@testable import CDRuntime

/// Files that are not as they were written: each is refused with a typed error and left as it is.
@Suite(.onceForAllKinds) struct StoreFileDamageTests {
  private let folder: URL
  private let url: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "library.store")
  }

  private func removeFiles() { try? FileManager.default.removeItem(at: folder) }

  /// The bytes of a store with an author, his book and two tags.
  private func make(_ kind: StoreKind) throws -> Data {
    try? FileManager.default.removeItem(at: url)
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: kind.location(url))
    let context = ManagedObjectContext(coordinator)
    let author = Author(name: "Thoreau", in: context)
    let book = Book(title: "Walden", isbn: "0-8070", author: author, in: context)
    for name in ["a", "b"] { book.tags.append(Tag(name: name, in: context)) }
    try context.save()
    return try Data(contentsOf: url)
  }

  private func open(_ kind: StoreKind) throws {
    _ = try PersistentStoreCoordinator(for: LibraryModel.self, at: kind.location(url))
  }

  /// What is wrong with the file, as the reader says; nil where it takes it.
  private func reason(_ bytes: Data, _ kind: StoreKind) throws -> StoreFormatError.Reason? {
    try bytes.write(to: url)
    do {
      try open(kind)
      return nil
    } catch StoreError.unreadable(url, let error) {
      #expect(try Data(contentsOf: url) == bytes)
      return error.reason
    }
  }

  private func text(_ change: (String) -> String) throws -> StoreFormatError.Reason? {
    let whole = String(decoding: try make(.xml), as: UTF8.self)
    let changed = change(whole)
    try #require(changed != whole)
    return try reason(Data(changed.utf8), .xml)
  }

  @Test(arguments: [StoreKind.xml, .binary]) func bytesBehindTheEndAreNoticed(_ kind: StoreKind) throws {
    defer { removeFiles() }
    let whole = try make(kind)
    #expect(try reason(whole + Data([0x41]), kind) != nil)
    #expect(try reason(whole, kind) == nil)
  }

  @Test func blocksThatHaveChangedPlacesAreNoticed() throws {
    defer { removeFiles() }
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: .binary(url))
    let context = ManagedObjectContext(coordinator)
    for number in 0..<3 {
      _ = Author(name: String(repeating: "\(number)", count: BinaryStoreFormat.blockSize), in: context)
    }
    try context.save()
    let bytes = try Data(contentsOf: url)
    let length = 8 + BinaryStoreFormat.blockSize
    let blocks = [bytes[12..<12 + length], bytes[12 + length..<12 + 2 * length]]
    let swapped = bytes[..<12] + blocks[1] + blocks[0] + bytes[(12 + 2 * length)...]
    try FileManager.default.removeItem(at: url)
    #expect(try reason(Data(swapped), .binary) == .checksum)
  }

  @Test func theChecksumIsTheStandards() {
    var checksum = BlockChecksum()
    Array("123456789".utf8).withUnsafeBytes { checksum.add($0) }
    #expect(checksum.value == 0xE306_9283)
  }

  @Test func laterFormatsAreNotGuessedAt() throws {
    defer { removeFiles() }
    var bytes = try make(.binary)
    bytes[8] = 2
    #expect(try reason(bytes, .binary) == .newerFormat(found: 2, supported: 1))
    #expect(
      try text { $0.replacing("format=\"1\"", with: "format=\"7\"") } == .newerFormat(found: 7, supported: 1))
  }

  @Test func documentTypesAndEntitiesAreNotRead() throws {
    defer { removeFiles() }
    let bomb = """
      <!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>
      <cdgen
      """
    #expect(try text { $0.replacing("<cdgen", with: bomb) } == .documentType)
    let external = "<!DOCTYPE x SYSTEM \"file:///etc/passwd\">\n<cdgen"
    #expect(try text { $0.replacing("<cdgen", with: external) } == .documentType)
    #expect(try text { $0.replacing(">Walden<", with: ">&secret;<") } == .documentType)
    #expect(
      try text { $0.replacing(">Walden<", with: ">\(String(repeating: "&", count: 99))<") }
        == .syntax("an '&' that does not begin a reference"))
  }

  @Test func otherEncodingsAreRefused() throws {
    defer { removeFiles() }
    let whole = String(decoding: try make(.xml), as: UTF8.self)
    #expect(try reason(try #require(whole.data(using: .utf16)), .xml) == .encoding)
    #expect(try reason(try #require(whole.data(using: .utf16BigEndian)), .xml) == .encoding)
    #expect(try text { $0.replacing("UTF-8", with: "ISO-8859-1") } == .encoding)
    var bytes = Data(whole.utf8)
    let place = try #require(bytes.range(of: Data("Walden".utf8)))
    bytes[place.lowerBound] = 0xFF
    #expect(try reason(bytes, .xml) == .encoding)
  }

  @Test func whatTheModelHasNotIsRefused() throws {
    defer { removeFiles() }
    #expect(
      try text { $0.replacing("<objects name=\"Tag\"", with: "<objects name=\"Tug\"") }
        == .unknownEntity("Tug"))
    #expect(
      try text { $0.replacing("name=\"isbn\"", with: "name=\"isbm\"") }
        == .unknownProperty(entity: "Book", property: "isbm"))
    #expect(
      try text { $0.replacing("<object key=\"1\" ", with: "<object key=\"1\" colour=\"red\" ") }
        == .unknownProperty(entity: "Book", property: "colour"))
    #expect(
      try text { $0.replacing("key=\"entities\">", with: "key=\"entities\">Strange ") }
        == .unknownEntity("Strange"))
    #expect(try text { $0.replacing("key=\"storeUUID\"", with: "key=\"x\"") } == .metadata(key: "storeUUID"))
    #expect(
      try text { $0.replacing("key=\"version\"", with: "key=\"version2\"") } == .metadata(key: "version"))
  }

  @Test func valuesOfOtherTypesAreRefused() throws {
    defer { removeFiles() }
    #expect(
      try text { $0.replacing("<value name=\"priority\">1<", with: "<value name=\"priority\">high<") }
        == .invalidValue(entity: "Book", property: "priority", key: 1))
    #expect(
      try text { $0.replacing("<value name=\"price\">9.99<", with: "<value name=\"price\">9,99<") }
        == .invalidValue(entity: "Book", property: "price", key: 1))
    #expect(
      try text { $0.replacing("<value name=\"title\">Walden</value>", with: "") }
        == .invalidValue(entity: "Book", property: "title", key: 1))
    for key in ["0", "-1", "4611686018427387904", "9223372036854775807", "99999999999999999999", ""] {
      #expect(
        try text { $0.replacing("<object key=\"2\" ", with: "<object key=\"\(key)\" ") } != nil,
        "key '\(key)'")
    }
  }

  /// A store with such a number could not be saved, or its file could not be read again.
  @Test func numbersOfSavesWithoutANextOneAreRefused() throws {
    defer { removeFiles() }
    for number in ["9223372036854775807", "4611686018427387905", "0"] {
      #expect(
        try text {
          $0.replacing("entity=\"_history\" next=\"2\"", with: "entity=\"_history\" next=\"\(number)\"")
        } == .invalidRow(entity: "_keys", key: nil))
    }
    for number in ["9223372036854775807", "4611686018427387904", "0"] {
      #expect(
        try text { $0.replacing("<row id=\"1\" ", with: "<row id=\"\(number)\" ") }
          == .invalidRow(entity: "_history", key: nil))
    }
  }

  /// No object could be added to such a store.
  @Test func countersThatLeaveNoKeyAreRefused() throws {
    defer { removeFiles() }
    for number in ["9223372036854775807", "4611686018427387905"] {
      #expect(
        try text {
          $0.replacing(/entity="Tag" next="\d+"/, with: "entity=\"Tag\" next=\"\(number)\"")
        } == .invalidRow(entity: "_keys", key: nil))
    }
  }

  @Test func keysThatAreThereTwiceAreRefused() throws {
    defer { removeFiles() }
    #expect(
      try text { $0.replacing("<object key=\"2\" ", with: "<object key=\"1\" ") }
        == .duplicateKey(entity: "Tag", key: 1))
    #expect(
      try text { $0.replacing("<value name=\"name\">b<", with: "<value name=\"name\">a<") }
        == .notUnique(index: "Tag.unique.name"))
  }

  @Test func referencesThatLeadNowhereAreRefused() throws {
    defer { removeFiles() }
    #expect(
      try text { $0.replacing("<value name=\"author\">1<", with: "<value name=\"author\">77<") }
        == .danglingReference(entity: "Publication", key: 1, destination: "Author"))
    let reason = try text {
      $0.replacing("<row source=\"1\" target=\"2\"", with: "<row source=\"1\" target=\"78\"")
    }
    #expect(reason == .danglingReference(entity: "Book.tags", key: 1, destination: "Tag"))
  }

  @Test func whatIsNoXMLIsRefused() throws {
    defer { removeFiles() }
    #expect(try reason(Data("<html></html>".utf8), .xml) == .otherFormat)
    #expect(try reason(Data("a letter".utf8), .xml) == .otherFormat)
    #expect(try reason(Data("a letter".utf8), .binary) == .otherFormat)
    let deep = String(repeating: "<a>", count: 100_000)
    for change in [
      (">Walden<", ">Wal<b>den</b><"), (">Walden<", ">Wal\u{1}den<"), (">Walden<", ">&#0;<"),
      (">Walden<", ">\(deep)<"),
      ("<metadata>", "<metadata><"), ("</metadata>", "</data>"), ("<objects", "<objects x=\"1\" x=\"2\""),
      ("<objects", "<\(String(repeating: "o", count: 5000))"), ("</cdgen>", "</cdgen><cdgen/>"),
    ] {
      let found = try text { $0.replacing(change.0, with: change.1) }
      if case .syntax? = found { continue }
      Issue.record("\(change.0) → \(change.1.prefix(40)): \(String(describing: found))")
    }
  }

  @Test func whatOtherToolsMakeOfTheXMLIsRead() throws {
    defer { removeFiles() }
    let before = try text { whole in
      whole.replacing("<?xml version=\"1.0\" encoding=\"UTF-8\"?>", with: "\u{FEFF}<!-- edited --><?tool x?>")
        .replacing("\n", with: "\r\n").replacing(">Walden<", with: "><![CDATA[Wal]]>d&#x65;<!-- n -->n<")
    }
    #expect(before == nil)
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: .xml(url))
    let context = ManagedObjectContext(coordinator)
    #expect(try Book.objects(in: context).map(\.title) == ["Walden"])
    withExtendedLifetime(context) {}
  }

  @Test func theXMLIsTheSameWhereverItsPartsAreCut() throws {
    defer { removeFiles() }
    let whole = String(decoding: try make(.xml), as: UTF8.self)
    // The file is read in parts of this size. Space moves every byte of a row's beginning to the end of one.
    let part = 1 << 18
    let row = try #require(whole.range(of: "<object "))
    let start = whole.utf8.distance(from: whole.startIndex, to: row.lowerBound)
    for shift in 0..<40 {
      let space = String(repeating: " ", count: part - start - shift * 3)
      #expect(try text { $0.replacing("<metadata>", with: space + "<metadata>") } == nil, "\(shift)")
      let context = ManagedObjectContext(
        try PersistentStoreCoordinator(for: LibraryModel.self, at: .xml(url)))
      #expect(try Book.objects(in: context).map(\.title) == ["Walden"], "\(shift)")
      withExtendedLifetime(context) {}
    }
  }

  @Test func bytesThatAreNoTextAreRefused() throws {
    defer { removeFiles() }
    let whole = try make(.xml)
    for text in [">Walden<", "name=\"title\"", "<value ", "version=\"1\""] {
      var bytes = whole
      let place = try #require(bytes.range(of: Data(text.utf8)))
      bytes[place.lowerBound + text.utf8.count / 2] = 0xFF
      #expect(try reason(bytes, .xml) == .encoding, "\(text)")
    }
  }

  @Test func aHugeFileIsRefusedWithoutBeingKept() throws {
    defer { removeFiles() }
    let whole = try make(.xml)
    let handle = try FileHandle(forWritingTo: url)
    try handle.truncate(atOffset: 100 << 20)
    try handle.close()
    #expect(throws: StoreError.self) { try open(.xml) }
    #expect(try StoreLocation(recognizing: url) == .xml(url))
    try whole.write(to: url)
    try open(.xml)
    let binary = folder.appending(path: "zeros")
    #expect(FileManager.default.createFile(atPath: binary.path, contents: nil))
    try FileHandle(forWritingTo: binary).truncate(atOffset: 100 << 20)
    #expect(throws: StoreError.unreadable(binary, StoreFormatError(.otherFormat, offset: 0))) {
      try PersistentStoreCoordinator(for: LibraryModel.self, at: .binary(binary))
    }
  }

  @Test func theDateOfXMLIsExact() {
    func read(_ text: String) -> Double? { Array(text.utf8).withUnsafeBufferPointer(XMLDate.seconds) }
    for seconds in [
      0, 1, -1, 86_400, -63_113_904_000, 252_423_993_599, 1e18, 0.5, -0.0, .infinity, .leastNonzeroMagnitude,
    ] as [Double] {
      let text = XMLDate.text(seconds)
      let back = read(text)
      #expect(back == seconds && back?.sign == seconds.sign, "\(text)")
    }
    #expect(
      XMLDate.text(0) == "2001-01-01T00:00:00Z" && XMLDate.text(-63_113_904_000) == "0001-01-01T00:00:00Z")
    #expect(XMLDate.text(730_000_000) == "2024-02-19T01:46:40Z")
    for text in [
      "2001-02-29T00:00:00Z", "2001-13-01T00:00:00Z", "2001-01-01T24:00:00Z", "2001-01-01 00:00:00Z", "",
    ] {
      #expect(read(text) == nil, "\(text)")
    }
  }
}
