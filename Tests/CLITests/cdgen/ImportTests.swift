import Foundation
import Testing

@Suite struct ImportTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let contents = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
        <entity name="Note" representedClassName="Note"><attribute name="text" attributeType="String"/></entity>
    </model>
    """

  @Test func aModelComesInIsGoodAndGoesOut() throws {
    for name in ["My Notes", "My Notes 2"] {
      try folder.write(Self.contents, to: "My Notes.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    let imported = try BuiltTool.cdgen.run(
      "import", "My Notes.xcdatamodeld", "--output", "Schemas", in: folder.url)
    #expect(
      imported
        == .init(
          status: 0,
          output: "Schemas/MyNotes.cdmodel: 2 versions; next run: cdgen check Schemas/MyNotes.cdmodel\n",
          errors: ""))
    let checked = try BuiltTool.cdgen.run("check", "Schemas/MyNotes.cdmodel", in: folder.url)
    #expect(checked.output == "Schemas/MyNotes.cdmodel: no errors, no warnings\n")
    let exported = try BuiltTool.cdgen.run(
      "export", "Schemas/MyNotes.cdmodel", "--output", "Back.xcdatamodeld", in: folder.url)
    #expect(exported == .init(status: 0, output: "Back.xcdatamodeld\n", errors: ""))
    #expect(
      try folder.names(in: "Back.xcdatamodeld") == [
        ".xccurrentversion", "My Notes 2.xcdatamodel", "My Notes.xcdatamodel",
      ])
    let again = try BuiltTool.cdgen.run(
      "import", "My Notes.xcdatamodeld", "--output", "Schemas", in: folder.url)
    #expect(again.status == 1 && again.errors.contains("cannot be made"))
  }

  @Test func theOutputMayBeTheModelItself() throws {
    try folder.write(Self.contents, to: "N.xcdatamodel/contents")
    let result = try BuiltTool.cdgen.run(
      "import", "N.xcdatamodel", "--output", "Mine.cdmodel/", in: folder.url)
    #expect(
      result.output == "Mine.cdmodel: 1 version; next run: cdgen check Mine.cdmodel\n", "\(result)")
    #expect(folder.exists("Mine.cdmodel/1.yaml"))
  }

  @Test func anUnclearOrderIsAskedFor() throws {
    for name in ["Old", "New"] {
      try folder.write(Self.contents, to: "N.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    let result = try BuiltTool.cdgen.run("import", "N.xcdatamodeld", "--output", ".", in: folder.url)
    #expect(result.status == 1 && result.errors.contains("--order:\n  New\n  Old\n"))
    try folder.write("Old\nNew\n", to: "order.txt")
    let ordered = try BuiltTool.cdgen.run(
      "import", "N.xcdatamodeld", "--output", ".", "--order", "order.txt", in: folder.url)
    #expect(ordered.status == 0)
    #expect(try folder.text(of: "N.cdmodel/2.yaml").contains("label: New"))
  }

  @Test func anOrderThatIsNoTextIsOneError() throws {
    try folder.write(Self.contents, to: "N.xcdatamodeld/Old.xcdatamodel/contents")
    let bytes = (0..<4000).map { UInt8(truncatingIfNeeded: $0 * 7) }
    try Data(bytes).write(to: folder.url.appending(path: "order.bin"))
    #expect(
      try BuiltTool.cdgen.run(
        "import", "N.xcdatamodeld", "--output", ".", "--order", "order.bin", in: folder.url)
        == .init(
          status: 1, output: "",
          errors:
            "order.bin: error: this is not a text; an order names the versions, a line each, the oldest first\n"
        )
    )
  }

  @Test func anUnreadableCurrentVersionIsNotTheNewest() throws {
    for name in ["N", "N 2"] {
      try folder.write(Self.contents, to: "N.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    try folder.write("<plist><dict><key>_XCCurrent", to: "N.xcdatamodeld/.xccurrentversion")
    let result = try BuiltTool.cdgen.run("import", "N.xcdatamodeld", "--output", ".", in: folder.url)
    #expect(result.status == 1)
    #expect(result.errors.hasPrefix("N.xcdatamodeld/.xccurrentversion: error: this is not a property list"))
  }

  /// Who locks a long history keeps it for good, and is told what that means.
  @Test func lockingALongHistorySaysWhatCanBeLeftOut() throws {
    for number in 1...16 {
      try folder.write(Self.contents, to: "N.xcdatamodeld/N \(number).xcdatamodel/contents")
    }
    #expect(try BuiltTool.cdgen.run("import", "N.xcdatamodeld", "--output", ".", in: folder.url).status == 0)
    let result = try BuiltTool.cdgen.run("lock", "N.cdmodel", "--all", in: folder.url)
    #expect(result.status == 0)
    #expect(
      result.output.hasPrefix("N.cdmodel: 16 versions at once.") && result.output.contains("--order file"))
  }

  @Test func whatIsNoModelIsRefused() throws {
    try folder.write("x", to: "Old.xcdatamodel/elements")
    let result = try BuiltTool.cdgen.run("import", "Old.xcdatamodel", "--output", ".", in: folder.url)
    #expect(result.status == 1 && result.errors.contains("binary form of Xcode 3"))
    let missing = try BuiltTool.cdgen.run("import", "Gone.xcdatamodeld", "--output", ".", in: folder.url)
    #expect(
      missing == .init(status: 1, output: "", errors: "Gone.xcdatamodeld: error: there is no such folder\n"))
  }
}
