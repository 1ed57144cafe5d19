import CDModel
import CDSchema
import Foundation
import SeededRandom
import Testing

@testable import CDXcode

/// Files that nobody's Xcode has written. Of each there is a model or an error, and no crash, soon and in little room.
@Suite("Damaged and hostile models", .timeLimit(.minutes(10))) struct HostileModelTests {
  /// A model with all that a model can have, some ten thousand bytes of it.
  private static let contents: [UInt8] = {
    var text =
      #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#
      + "\n<model userDefinedModelVersionIdentifier=\"1\">\n"
    for number in 0..<12 {
      let next = (number + 1) % 12
      text += """
        <entity name="E\(number)" representedClassName=".C\(number)" \(number == 3 ? "parentEntity=\"E2\"" : "") elementID="O\(number)">
          <attribute name="a\(number)" optional="YES" attributeType="String" minValueString="1" regularExpressionString="[a-z]+&amp;?"/>
          <attribute name="n\(number)" attributeType="Integer 32" defaultValueString="7" maxValueString="99" usesScalarValueType="YES"/>
          <attribute name="d\(number)" optional="YES" attributeType="Date" defaultDateTimeInterval="86400"/>
          <attribute name="t\(number)" optional="YES" attributeType="Transformable" customClassName="[String: [Int]]"/>
          <attribute name="c\(number)" optional="YES" attributeType="Composite" composite="Box"/>
          <attribute name="k\(number)" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="many\(number).@count"/>
          <relationship name="many\(number)" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="E\(next)" inverseName="one\(next)" inverseEntity="E\(next)"/>
          <relationship name="one\(number)" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="E\((number + 11) % 12)" inverseName="many\((number + 11) % 12)" inverseEntity="E\((number + 11) % 12)"/>
          <fetchedProperty name="f\(number)" optional="YES"><fetchRequest name="f" entity="E\(number)" predicateString="a\(number) == $FETCH_SOURCE.a\(number)"/></fetchedProperty>
          <fetchIndex name="i\(number)"><fetchIndexElement property="n\(number)" type="Binary" order="descending"/></fetchIndex>
          <uniquenessConstraints><uniquenessConstraint><constraint value="n\(number)"/></uniquenessConstraint></uniquenessConstraints>
          <userInfo><entry key="k" value="v &lt; w"/></userInfo>
        </entity>

        """
    }
    text += """
      <composite name="Box"><attribute name="w" optional="YES" attributeType="Double"/></composite>
      <fetchRequest name="all" entity="E0" predicateString="a0 BEGINSWITH[cd] $TEXT AND n0 IN {1, 2}"/>
      <configuration name="Local"><memberEntity name="E0"/></configuration>
      </model>
      """
    return Array(text.utf8)
  }()

  /// Imports a version and reads what came of it; what came of it is to be a model that can be read back, or errors.
  @discardableResult
  private func read(_ bytes: [UInt8], mapping: [UInt8]? = nil) -> Bool {
    let bundle = XcodeBundle(
      name: "Shop", path: "Shop", versions: [.init(name: "Shop", path: "Shop/contents", contents: bytes)])
    let mappings = mapping.map { [XcodeMappingFile(path: "m.xml", contents: $0)] } ?? []
    let result = XcodeImporter(bundle, mappings: mappings).run(id: UUID())
    guard let model = result.model else {
      #expect(result.diagnostics.containsErrors)
      return false
    }
    let loaded = ModelLoader.load(name: model.name, files: result.files.mapValues { Array($0.utf8) })
    #expect(loaded.unprovenModel == model, "\(loaded.diagnostics.filter { $0.severity == .error }.prefix(3))")
    return true
  }

  @Test func theModelItselfIsRead() { #expect(read(Self.contents)) }

  @Test func aModelThatIsCutIsRefusedWhereverItIsCut() {
    for length in stride(from: 0, to: Self.contents.count, by: 97) {
      #expect(!read(Array(Self.contents[..<length])), "\(length)")
    }
  }

  @Test(arguments: [1, 2, 3]) func changedBytesGiveAModelOrAnError(seed: UInt64) {
    var generator = SplitMix(seed: seed)
    for _ in 0..<60 {
      var bytes = Self.contents
      for _ in 0..<(1 + generator.next() % 6) {
        let place = Int(generator.next() % UInt64(bytes.count))
        switch generator.next() % 4 {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: generator.next())
        // Letters leave the text well-formed, and change what it says.
        case 1: bytes[place] = UInt8(ascii: "a") + UInt8(generator.next() % 26)
        case 2: bytes.removeSubrange(place..<min(place + Int(generator.next() % 60), bytes.count))
        default: bytes.insert(contentsOf: bytes[place..<min(place + 200, bytes.count)], at: place)
        }
      }
      read(bytes)
    }
  }

  @Test(arguments: [
    // An entity that would be a thousand million times its length.
    #"<!DOCTYPE model [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><model>&b;</model>"#,
    #"<!DOCTYPE model [<!ENTITY x SYSTEM "file:///dev/zero">]><model a="&x;"/>"#,
    #"<!DOCTYPE model [<!ENTITY % x SYSTEM "file:///dev/zero"> %x;]><model/>"#,
    #"<model><entity name="&x;"/></model>"#, "<model>&#xFFFFFFFFFFFF;</model>", "<model>&#xD800;</model>",
    "<model\u{0}/>", "<model><![CDATA[", "<model><!--", "<model><?x", "<model a='", "<!DOCTYPE model", "",
  ]) func whatWouldUnfoldOrDoesNotEndIsRefused(text: String) { #expect(!read(Array(text.utf8))) }

  /// Nothing is fetched: a document type is passed over.
  @Test func aDocumentTypeThatIsElsewhereIsNotLookedAt() {
    #expect(read(Array(#"<!DOCTYPE model SYSTEM "file:///dev/zero"><model/>"#.utf8)))
  }

  @Test func whatIsTooLargeIsRefused() {
    func repeated(_ start: String, _ part: String, _ count: Int, _ end: String = "") -> [UInt8] {
      Array((start + String(repeating: part, count: count) + end).utf8)
    }
    #expect(!read(repeated("<model>", "a", MarkupLimits.size, "</model>")))
    #expect(!read(repeated("<model><entity name='", "a", MarkupLimits.value + 1, "'/></model>")))
    #expect(!read(repeated("<model>", "<e/>", MarkupLimits.elements, "</model>")))
    #expect(!read(repeated("", "<e>", 100_000)))
    #expect(!read(repeated("", "<e>", 100_000, String(repeating: "</e>", count: 100_000))))
    #expect(
      !read(
        Array("<model \((0...MarkupLimits.attributes).map { "a\($0)='1'" }.joined(separator: " "))/>".utf8)))
    #expect(
      !read(
        Array("<model>\((0...ModelLimits.entities).map { "<entity name='E\($0)'/>" }.joined())</model>".utf8))
    )
  }

  /// What is only large is read, in time that goes with its size.
  @Test func longLinesOfParentsAndNamesThatClashAreRead() {
    let line = (0..<(isThorough ? 1_000 : 300)).map { number in
      "<entity name='E\(number)' parentEntity='E\(number - 1)'><attribute name='a\(number)' optional='YES' attributeType='String'/></entity>"
    }
    #expect(read(Array("<model>\(line.joined())</model>".utf8)))
    let clashing = (0..<512).map { number in
      let name = (0..<9).map { number >> $0 & 1 == 1 ? "A" : "a" }.joined()
      return "<attribute name='\(name)' optional='YES' attributeType='String'/>"
    }
    #expect(read(Array("<model><entity name='E'>\(clashing.joined())</entity></model>".utf8)))
    let request = "<fetchRequest name='f' entity='E'/>"
    let requests = String(repeating: request, count: isThorough ? 10_000 : 2_000)
    #expect(read(Array("<model><entity name='E'/>\(requests)</model>".utf8)))
  }

  /// The properties that stay keep their own elements.
  @Test func manyDroppedPropertiesAreKeptInTheirOrder() throws {
    let numbers = 1...(isThorough ? 4_000 : 1_000)
    let fetched = numbers.map { number in
      "<fetchedProperty name='f\(number)'><fetchRequest name='f' entity='E' predicateString='x ='/></fetchedProperty>"
    }
    let right =
      "<fetchedProperty name='g'><fetchRequest name='g' entity='E' fetchBatchSize='7'/></fetchedProperty>"
    let attributes = numbers.map { "<attribute name='a\($0)' optional='YES' attributeType='String'/>" }
      .joined()
    let own = "<attribute name='b' optional='YES' attributeType='String' elementID='B'/>"
    let text = """
      <model><entity name='E'>\(fetched.joined())\(right)</entity><entity name='P'>\(attributes)</entity>
      <entity name='C' parentEntity='P'>\(attributes)\(own)</entity></model>
      """
    let version = XcodeBundle.Version(name: "Shop", path: "Shop/contents", contents: Array(text.utf8))
    let bundle = XcodeBundle(name: "Shop", path: "Shop", versions: [version])
    let result = XcodeImporter(bundle).run(id: UUID())
    let entities = try #require(result.model?.versions.first?.entities)
    #expect(entities[0].fetchedProperties.map(\.name) == ["g"])
    #expect(entities[0].fetchedProperties[0].info["xcode.fetchRequest.fetchBatchSize"] == "7")
    #expect(entities[2].attributes.map(\.name) == ["b"])
    #expect(entities[2].attributes[0].info["xcode.elementID"] == "B")
    for (entity, letter) in [(entities[0], "f"), (entities[2], "a")] {
      #expect(
        numbers.allSatisfy { number in
          entity.info["xcode.element.\(number)"]?.contains(" name=\"\(letter)\(number)\"") == true
        })
    }
  }

  @Test func predicatesThatNestWithoutEndAreKeptAsText() {
    let length = isThorough ? 20_000 : 5_000
    for predicate in [
      String(repeating: "(", count: 5 * length), String(repeating: "NOT ", count: 5 * length),
      Array(repeating: "n == 'x'", count: length).joined(separator: " OR "),
      Array(repeating: "1", count: length).joined(separator: " + "),
    ] {
      let text = """
        <model><entity name="E"><attribute name="n" optional="YES" attributeType="String"/></entity>
        <fetchRequest name="f" entity="E" predicateString="\(predicate)"/></model>
        """
      #expect(read(Array(text.utf8)))
    }
  }

  @Test func damagedMappingModelsAreWarnedOf() {
    let whole = Array(MappingTests.mapping.utf8)
    var generator = SplitMix(seed: 5)
    for length in stride(from: 0, to: whole.count, by: 61) {
      #expect(read(Array("<model/>".utf8), mapping: Array(whole[..<length])))
    }
    for _ in 0..<300 {
      var bytes = whole
      for _ in 0..<(1 + generator.next() % 4) {
        bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
      }
      #expect(read(Array("<model/>".utf8), mapping: bytes))
    }
  }

  @Test func aDamagedCurrentVersionIsRefused() throws {
    let whole = Array(CurrentVersionFile.text(name: "Shop 2").utf8)
    #expect(try CurrentVersionFile.name(in: whole) == "Shop 2")
    for length in 0..<(whole.count - 1) {
      #expect(throws: MarkupError.self) { try CurrentVersionFile.name(in: Array(whole[..<length])) }
    }
    for place in whole.indices {
      for byte in [UInt8(0), 0x3C, 0x26, 0xFF] {
        var bytes = whole
        bytes[place] = byte
        _ = try? CurrentVersionFile.name(in: bytes)
      }
    }
    #expect(throws: MarkupError.self) { try CurrentVersionFile.name(in: Array("bplist00".utf8)) }
    #expect(throws: MarkupError.self) { try CurrentVersionFile.name(in: Array("<html/>".utf8)) }
    // Xcode writes none for a model of one version.
    #expect(try CurrentVersionFile.name(in: Array("<plist version='1.0'><dict/></plist>".utf8)) == nil)
  }

  // MARK: On disk

  private func bundle(_ make: (_ file: String) throws -> some Any) throws -> Result<
    XcodeBundle, XcodeBundleError
  > {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let version = folder.appending(path: "Shop.xcdatamodeld/Shop.xcdatamodel")
    try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
    _ = try make(version.appending(path: "contents").path(percentEncoded: false))
    return Result { () throws(XcodeBundleError) in
      try XcodeBundle(contentsOf: version.deletingLastPathComponent().path(percentEncoded: false))
    }
  }

  @Test func whatIsNoPlainFileIsNotRead() throws {
    func isRefused(_ make: (_ file: String) throws -> some Any) throws -> Bool {
      if case .failure = try bundle(make) { true } else { false }
    }
    // A pipe would be waited for, and a device never ends.
    let files = FileManager.default
    let pipe = try isRefused { mkfifo($0, 0o600) }
    let device = try isRefused { try files.createSymbolicLink(atPath: $0, withDestinationPath: "/dev/zero") }
    let circle = try isRefused { try files.createSymbolicLink(atPath: $0, withDestinationPath: $0) }
    let folder = try isRefused { try files.createDirectory(atPath: $0, withIntermediateDirectories: false) }
    let nothing = try isRefused { _ in }
    #expect([pipe, device, circle, folder, nothing] == [true, true, true, true, true])
  }

  /// A hundred million bytes, none of them written: the file is refused by its size.
  @Test func aLargeFileIsNotOpened() throws {
    let result = try bundle { path in
      #expect(FileManager.default.createFile(atPath: path, contents: Data()))
      let handle = try #require(FileHandle(forWritingAtPath: path))
      try handle.truncate(atOffset: 100_000_000)
      try handle.close()
    }
    let error = #expect(throws: XcodeBundleError.self) { try result.get() }
    #expect(error?.message == "the file has 100000000 bytes, and at most \(MarkupLimits.size) are read")
  }
}
