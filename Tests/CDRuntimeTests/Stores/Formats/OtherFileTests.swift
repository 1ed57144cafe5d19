import Foundation
import Testing

@testable import CDRuntime

/// What stands where a store's file is looked for, and is none.
@Suite(.onceForAllKinds) struct OtherFileTests {
  private let file: HostileFile

  init() throws { file = try HostileFile() }

  @Test(arguments: StoreKind.whole) func anEmptyFileBecomesAStore(_ kind: StoreKind) throws {
    try Data().write(to: file.url)
    #expect(throws: StoreError.unreadable(file.url, StoreFormatError(.truncated))) {
      try PersistentStoreCoordinator(
        for: LibraryModel.self,
        stores: [PersistentStoreDescription(kind.location(file.url), isReadOnly: true)])
    }
    #expect(try Data(contentsOf: file.url).isEmpty)
    try file.use(kind)
    try file.use(kind)
  }

  /// What people and tools put before the first element.
  @Test(arguments: [
    "", "\n", "\r\n \t", "<!-- mine -->\n", "\n<!-- mine -->", "<?tool x?>",
    "<?xml-stylesheet href=\"a.xsl\"?>\n", "\u{FEFF}\n", "\u{FEFF}<!-- mine -->",
  ]) func xmlWithoutADeclarationIsRecognized(_ prolog: String) throws {
    let text = String(decoding: try file.make(.xml), as: UTF8.self)
    let start = try #require(text.range(of: "<cdgen")?.lowerBound)
    let bytes = Data("\(prolog)\(text[start...])".utf8)
    try bytes.write(to: file.url)
    let location = try StoreLocation(recognizing: file.url)
    guard case .xml = location else {
      Issue.record("\(location)")
      return
    }
    #expect(try file.outcome(bytes, .xml).isOpened)
  }

  @Test func onlyXMLIsRecognizedAsXML() throws {
    for text in ["<html></html>", "\n<html/>", "\n", " x", "<!DOCTYPE html>"] {
      #expect(!XMLStoreFormat().recognizes(Array(text.utf8)), "\(text)")
    }
    // XML permits nothing before a declaration.
    let text = String(decoding: try file.make(.xml), as: UTF8.self)
    #expect(try file.outcome(Data("\n\(text)".utf8), .xml).error?.reason == .otherFormat)
  }

  @Test(arguments: StoreKind.files) func aFolderIsRefused(_ kind: StoreKind) throws {
    try FileManager.default.createDirectory(at: file.url, withIntermediateDirectories: false)
    try Data("kept".utf8).write(to: file.url.appending(path: "inside"))
    expectRefusal(as: kind)
    #expect(try Data(contentsOf: file.url.appending(path: "inside")) == Data("kept".utf8))
  }

  /// Opening a pipe that nobody writes to would wait for ever.
  @Test(arguments: StoreKind.files) func aPipeIsRefused(_ kind: StoreKind) throws {
    #expect(mkfifo(file.url.path, 0o644) == 0)
    expectRefusal(as: kind)
  }

  private func expectRefusal(as kind: StoreKind) {
    for isReadOnly in [true, false] {
      #expect(throws: StoreError.self) {
        try PersistentStoreCoordinator(
          for: LibraryModel.self,
          stores: [PersistentStoreDescription(kind.location(file.url), isReadOnly: isReadOnly)])
      }
    }
    #expect(throws: StoreError.self) { try PersistentStoreCoordinator.metadata(forStoreAt: file.url) }
  }

  /// Each kind opened as each of the others, and files of other programs as each.
  @Test(arguments: StoreKind.files) func aFileOfAnotherKindIsRefused(_ kind: StoreKind) throws {
    var others: [Data] = [
      Data("{\"format\":1}".utf8), Data("<?xml version=\"1.0\"?><plist/>".utf8), Data("hello".utf8),
      Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 0, count: 600)),
      Data([0x1F, 0x8B, 8, 0]), Data(count: 5000),
    ]
    for other in StoreKind.files where other != kind { others.append(try file.make(other)) }
    for bytes in others {
      for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.url.path + name) }
      #expect(try !file.outcome(bytes, kind).isOpened, "\(bytes.prefix(16).map { $0 }) as \(kind)")
    }
  }
}
