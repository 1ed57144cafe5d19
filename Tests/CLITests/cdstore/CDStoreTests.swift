import Foundation
import Testing

/// `cdstore`, run as a user would, on a store of its own.
@Suite struct CDStoreTests {
  private let folder: TemporaryFolder

  static let version = """
    enums:
      Mood: { type: String, cases: { good: g, bad: b } }
    composites:
      Place: { street: String, zip: Int16? }
    entities:
      Item: { abstract: true, attributes: { key: String?, made: { type: Date, default: now() } } }
      Note:
        parent: Item
        attributes:
          text: { type: String, minLength: 1 }
          price: Decimal?
          mood: { type: Mood, default: good }
          place: Place?
          scan: { type: Data?, external: true }
          extra: { codable: My.Extra? }
          weight: Double?
          uid: UUID?
        relationships:
          folder: { to: Folder?, inverse: notes }
          tags: { to: [Tag], inverse: notes }
      Folder:
        attributes: { name: String }
        relationships: { notes: { to: [Note], inverse: folder, ordered: true } }
        unique: [[name]]
      Tag:
        attributes: { name: String }
        relationships: { notes: { to: [Note], inverse: tags } }

    """

  static let data = #"""
    {"Folder": [{"@id": "f1", "name": "Home", "notes": ["n2", "n1"]}],
     "Note": [
      {"@id": "n1", "text": "Buy tea, \"green\"", "made": "2030-01-02T03:04:05Z", "price": "9.99", "mood": "bad",
       "place": {"street": "Pond Road", "zip": 12}, "extra": {"a": [1, 2]}, "weight": 2,
       "uid": "00000000-0000-0000-0000-00000000ABCD", "tags": ["t"]},
      {"@id": "n2", "text": "Call Grace", "made": {"$date": 1000}, "price": {"$decimal": "-1.5"}, "scan": "AAEC",
       "weight": {"$double": 0.1}}],
     "Tag": [{"@id": "t", "name": "shop"}]}
    """#

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make("Notes", in: folder, version: Self.version)
    try folder.write(Self.data, to: "data.json")
    #expect(
      try run("create", "n.sqlite", "--model", "Notes.cdmodel")
        == BuiltTool.Result(status: 0, output: "n.sqlite: Notes, version 1\n", errors: ""))
  }

  private func run(_ arguments: String..., input: String? = nil) throws -> BuiltTool.Result {
    try BuiltTool.cdstore.run(arguments, in: folder.url, input: input)
  }

  private func expect(
    _ arguments: String..., input: String? = nil, status: Int32 = 0, output: String = "", errors: String = "",
    location: SourceLocation = #_sourceLocation
  ) throws {
    var result = try BuiltTool.cdstore.run(arguments, in: folder.url, input: input)
    // Each store has a UUID of its own.
    result.output = result.output.replacing(/cdgen:\/\/[0-9A-F-]{36}/, with: "cdgen://STORE")
    #expect(
      result == BuiltTool.Result(status: status, output: output, errors: errors), sourceLocation: location)
  }

  private func load() throws {
    try expect("load", "n.sqlite", "data.json", "--id", "key", output: "Folder: 1\nNote: 2\nTag: 1\n")
  }

  @Test func whatWasLoadedIsFetchedAsItWas() throws {
    try load()
    try expect(
      "fetch", "n.sqlite", "Note", "--id", "key", "--sort", "-price", "--format", "json",
      output: #"""
        [
        {"@id":"n1","@entity":"Note","made":{"$date":1893553445.0},"text":"Buy tea, \"green\"","price":{"$decimal":"9.99"},"mood":"b","place":{"street":"Pond Road","zip":12},"scan":null,"extra":{"a":[1,2]},"weight":2.0,"uid":{"$uuid":"00000000-0000-0000-0000-00000000ABCD"},"folder":"cdgen://STORE/Folder/p1","tags":["cdgen://STORE/Tag/p1"]},
        {"@id":"n2","@entity":"Note","made":{"$date":1000.0},"text":"Call Grace","price":{"$decimal":"-1.5"},"mood":"g","place":null,"scan":{"$data":"AAEC"},"extra":null,"weight":0.1,"uid":null,"folder":"cdgen://STORE/Folder/p1","tags":[]}
        ]

        """#)
    try expect("verify", "n.sqlite", output: "n.sqlite is whole\n")
  }

  @Test func whatAFetchPrintsWithKeysCanBeLoaded() throws {
    try expect(
      "load", "n.sqlite", "-", "--id", "key", input: #"{"Note": [{"@id": "a", "text": "x"}, {"text": "y"}]}"#,
      output: "Note: 2\n")
    let rows = try run("fetch", "n.sqlite", "Item", "--id", "key", "--format", "json")
    #expect(try run("create", "m.sqlite", "--model", "Notes.cdmodel").status == 0)
    let loaded = try run("load", "m.sqlite", "-", "--id", "key", input: rows.output)
    #expect(loaded.status == 0 && loaded.output == "Note: 2\n", "\(loaded)")
    for (condition, text) in [("key == 'a'", "x"), ("key == nil", "y")] {
      try expect(
        "fetch", "m.sqlite", "Note", "--where", "\(condition) AND text == '\(text)'", "--count",
        output: "1\n")
    }
    // No rows are rows, too.
    let none = try run("fetch", "n.sqlite", "Note", "--where", "text == 'z'", "--format", "json")
    try expect("load", "m.sqlite", "-", input: none.output)
    try expect(
      "fetch", "n.sqlite", "Folder", "--id", "key", status: 1,
      errors: "Error: the entity 'Folder' has no String attribute 'key' for --id\n")
    try expect(
      "fetch", "n.sqlite", "--batch", "--id", "nope", status: 1,
      errors: "Error: none of the entities has a String attribute 'nope' for --id\n")
  }

  /// In the Gregorian calendar for all years, as 'cdstore load' reads them.
  @Test func datesArePrintedExactly() throws {
    let dates = [
      "0001-01-01T00:00:00Z", "1500-03-01T12:30:00Z", "1969-12-31T23:59:59.5Z", "2030-01-02T00:00:00Z",
      "2030-01-02T03:04:05.125Z", "9999-12-31T23:59:59Z",
    ]
    let notes = dates.enumerated().map {
      #"{"@id": "n\#($0.offset)", "text": "x", "made": "\#($0.element)"}"#
    }
    let late = #"{"@id": "n6", "text": "x", "made": {"$referenceDate": 1e15}}"#
    try expect(
      "load", "n.sqlite", "-", "--id", "key",
      input: #"{"Note": [\#((notes + [late]).joined(separator: ", "))]}"#, output: "Note: 7\n")
    let rows = try run("fetch", "n.sqlite", "Item", "--id", "key", "--sort", "key", "--format", "csv").output
    let lines = (dates + ["1000000000000000.0"]).enumerated().map { "n\($0.offset),\($0.element)\n" }
    #expect(rows == "@id,made\n" + lines.joined())
    let table = try run("fetch", "n.sqlite", "Item", "--id", "key", "--sort", "key").output
    for date in dates { #expect(table.contains(date), "\(table)") }
  }

  @Test func conditionsArgumentsAndCounts() throws {
    try load()
    for evaluator in ["store", "memory"] {
      try expect(
        "fetch", "n.sqlite", "Note", "--where", "text CONTAINS %@ AND price > 5", "--args", #"["tea"]"#,
        "--count", "--evaluator", evaluator, output: "1\n")
      try expect(
        "fetch", "n.sqlite", "Item", "--sort", "made", "--limit", "1", "--offset", "1", "--id", "key",
        "--evaluator", evaluator, "--format", "csv", output: "@id,made\nn1,2030-01-02T03:04:05Z\n")
      try expect(
        "fetch", "n.sqlite", "Note", "--sort", "-text[cd],made", "--id", "key", "--limit", "1",
        "--where", "text BEGINSWITH[c] 'c' OR text BEGINSWITH[c] 'b'", "--evaluator", evaluator, "--count",
        output: "1\n")
    }
    try expect(
      "fetch", "n.sqlite", "Note", "--where", "tags.@count == 0", "--id", "key",
      output: """
        @id  made                  text        price  mood  place  scan  extra  weight  uid  folder
        ---  --------------------  ----------  -----  ----  -----  ----  -----  ------  ---  ------------------------------------------------------
        n2   1970-01-01T00:16:40Z  Call Grace  -1.5   g            AAEC         0.1          cdgen://STORE/Folder/p1

        """)
  }

  @Test func aBatchAnswersEachLineAndGoesOn() throws {
    try load()
    try expect(
      "fetch", "n.sqlite", "--batch", "--id", "key",
      input: #"""
        {"entity": "Note", "where": "price < %@", "args": [{"$decimal": "0"}]}
        {"entity": "Note", "where": "text =="}
        {"entity": "Note", "where": "txt == 1"}
        {"entity": "Note", "where": "text == $t", "variables": {"t": "Call Grace"}, "evaluator": "memory"}
        {"entity": "Note", "where": "text == $t"}
        {"entity": "Nope"}
        {"entity": "Note", "where": "price / 0 > 1"}
        no JSON
        {"entity": "Note", "where": "SELF == %@", "args": [{"$ref": "Note/n2"}]}
        {"entity": "Note", "sort": ["-text"], "limit": 1}
        {"entity": "Note", "were": "price < 0"}
        {"entity": "Note", "predicate": "price < 0"}

        """#,
      output: #"""
        {"ids":["n2"]}
        {"error":"expected a value after '==', found end of text","stage":"parse","position":7}
        {"error":"Note has no 'txt'; did you mean 'text'?","stage":"check","position":0}
        {"ids":["n2"]}
        {"error":"variable '$t' has no value; add one to `variables`","stage":"check"}
        {"error":"the context's model has no entity 'Nope'; did you mean 'Note'?","stage":"check"}
        {"error":"/ divides by 0","stage":"evaluate"}
        {"error":"the request is not JSON: byte 0: expected a value","stage":"parse"}
        {"ids":["n2"]}
        {"ids":["n2"]}
        {"error":"a request has no 'were'; did you mean 'where'?","stage":"check"}
        {"error":"a request has no 'predicate'","stage":"check"}

        """#)
  }

  // An identifier may name any entity of its hierarchy.
  @Test func bothEvaluatorsKnowTheHierarchyOfIdentifiers() throws {
    try load()
    let ids = try run(
      "fetch", "n.sqlite", "--batch", input: #"{"entity": "Note", "where": "text == 'Call Grace'"}"#
    ).output
    let uri = String(try #require(ids.firstMatch(of: /cdgen:[^"]+/)).output)
    let other = uri.replacingOccurrences(of: "/Note/", with: "/Item/")
    #expect(other != uri)
    let variables = #"{"x": {"$ref": "\#(uri)"}, "y": {"$ref": "\#(other)"}}"#
    let all = try run("fetch", "n.sqlite", "--batch", input: #"{"entity": "Note"}"#).output
    for evaluator in ["store", "memory"] {
      let found = try run(
        "fetch", "n.sqlite", "--batch",
        input: #"""
          {"entity": "Note", "where": "$x == $y", "variables": \#(variables), "evaluator": "\#(evaluator)"}
          """#)
      #expect(found.output == all, "\(evaluator)")
    }
  }

  @Test func aReferenceMayBeAnObjectsURI() throws {
    try load()
    let all = #"{"entity": "Note", "where": "text == 'Call Grace'"}"#
    let ids = try run("fetch", "n.sqlite", "--batch", input: all).output
    let uri = try #require(ids.firstMatch(of: /cdgen:[^"]+/)).output
    let found = try run(
      "fetch", "n.sqlite", "--batch",
      input: #"{"entity": "Note", "where": "SELF == %@", "args": [{"$ref": "\#(uri)"}]}"#)
    #expect(found.output == ids)
  }

  /// One object would need no order.
  @Test func whatHasNoOrderIsNoSortKey() throws {
    try load()
    for (key, type) in [("folder", "Folder"), ("tags", "[Tag]"), ("place", "Place")] {
      let result = try run("fetch", "n.sqlite", "Note", "--where", "text == 'Call Grace'", "--sort", key)
      #expect(result.status == 1)
      #expect(result.errors.contains("objects cannot be sorted by '\(key)' (\(type))"), "\(result.errors)")
    }
  }

  @Test func aFilterNeedsNoStore() throws {
    try expect(
      "filter", "--where", "age >= %@", "--args", "[18]",
      input: "{\"age\": 20, \"name\": \"a\"}\n{\"age\": 3}\n{}\n", output: "{\"age\": 20, \"name\": \"a\"}\n")
    try expect(
      "filter", "--batch",
      input: #"""
        {"where": "SELF IN $list", "variables": {"list": [1, 2]}, "objects": [1, 3, 2]}
        {"where": "SELF =", "objects": []}
        {"where": "SELF > 1", "objects": ["x"]}

        """#,
      output: #"""
        {"matches":[0,2]}
        {"error":"expected a value after '=', found end of text","stage":"parse","position":6}
        {"error":"> does not compare a string with an integer","stage":"evaluate"}

        """#)
  }

  @Test func aFilterPassesLinesOnAsTheyAre() throws {
    try expect(
      "filter", "--where", "SELF > 1", input: "\u{FEFF}2\r\n1\r\n 3 \r\n4", output: "2\r\n 3 \r\n4\n")
    try expect(
      "filter", "--batch", input: "\u{FEFF}" + #"{"where": "SELF > 1", "objects": [2]}"#,
      output: #"{"matches":[0]}"# + "\n")
    // A text that is not UTF-8 is an error, and is not replaced by another text.
    let file = folder.url.appending(path: "latin.jsonl")
    try Data([UInt8(ascii: "\""), 0xE4, UInt8(ascii: "\""), UInt8(ascii: "\n")]).write(to: file)
    let process = Process()
    process.executableURL = BuiltTool.cdstore.url
    process.arguments = ["filter", "--where", "SELF != nil"]
    process.standardInput = try FileHandle(forReadingFrom: file)
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
  }

  /// Another program can make the pipe non-blocking.
  @Test func aPipeWithoutLinesForAMomentHasNotEnded() throws {
    let process = Process()
    process.executableURL = BuiltTool.cdstore.url
    process.arguments = ["filter", "--where", "SELF > 1"]
    let (input, output) = (Pipe(), Pipe())
    try #require(fcntl(input.fileHandleForReading.fileDescriptor, F_SETFL, O_NONBLOCK) == 0)
    // With a pipe instead of its handle, this process would close its end.
    process.standardInput = input.fileHandleForReading
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data("1\n2\n".utf8))
    #expect(output.fileHandleForReading.availableData == Data("2\n".utf8))
    Thread.sleep(forTimeInterval: 0.2)
    try input.fileHandleForWriting.write(contentsOf: Data("3\n4".utf8))
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(try output.fileHandleForReading.readToEnd() == Data("3\n4\n".utf8))
  }

  @Test(arguments: ["filter --where TRUEPREDICATE", "filter --batch", "fetch n.sqlite --batch"])
  func aFolderIsNoInput(_ command: String) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", "exec \"$0\" \(command) < . 2> errors", BuiltTool.cdstore.url.path]
    process.currentDirectoryURL = folder.url
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
    #expect(try folder.text(of: "errors").contains("standard input: cannot be read"))
  }

  @Test(arguments: [#"{"text": "a"}"#, "{\"text\": \"a\"}\n{\"text\": \"b\", \"tags\": []}"])
  func aRowWithoutItsEntityIsSaid(_ rows: String) throws {
    try expect(
      "load", "n.sqlite", "-", input: "\n" + rows, status: 1,
      errors: """
        Error: line 2: the row does not name its entity; add "@entity", or name the entity of all rows with --entity

        """)
  }

  @Test func aLoadIsAllOrNothingAndSaysEveryMistake() throws {
    try load()
    try folder.write(
      #"""
      {"Note": [{"text": 5, "zzz": 1, "txet": "", "folder": "q"}, {"tags": "t"}, 7], "Item": [], "Zed": [], "Flder": [],
       "Folder": {"name": "x"}, "Tag": [{"@id": "a", "name": "a"}, {"@id": "a", "name": "b"}]}
      """#, to: "bad.json")
    try expect(
      "load", "n.sqlite", "bad.json", status: 1,
      errors: """
        Error: Note row 3: takes an object, not an integer
        Item: is abstract; give rows of its subentities
        Zed: the model has no such entity
        Flder: the model has no such entity; did you mean 'Folder'?
        Folder: takes a list of rows, not an object
        Tag row 2: another row has the @id 'a'
        Note row 1, text: String does not take an integer such as this; write a text in quotes
        Note row 1, zzz: the entity has no such property
        Note row 1, txet: the entity has no such property; did you mean 'text'?
        Note row 1, folder: there is no row of 'Folder' with the @id 'q'
        Note row 2, tags: takes a list of @ids, not a string

        """)
    let refused = try run("load", "n.sqlite", "-", input: #"{"Note": [{"text": "x"}, {"text": ""}]}"#)
    #expect(refused.status == 1 && refused.output == "")
    let twice = try run("load", "n.sqlite", "-", input: #"{"Folder": [{"name": "Home"}]}"#)
    #expect(twice.status == 1 && twice.errors.contains("objects of 'Folder' have the same name: cdgen://"))
    try expect("fetch", "n.sqlite", "Note", "--count", output: "2\n")
    try expect("fetch", "n.sqlite", "Folder", "--count", output: "1\n")
  }

  @Test(arguments: ["data", "layout", "definition"])
  func aHashOfAnotherModelIsFound(name: String) throws {
    let info = try run("info", "n.sqlite").output
    let hash = try #require(try Regex("\(name) hash +([0-9a-f]{64})").firstMatch(in: info)?[1].substring)
    // Of the same length, where it stands in the file.
    var file = try Data(contentsOf: folder.url.appending(path: "n.sqlite"))
    let place = try #require(file.range(of: Data(hash.utf8)))
    file.replaceSubrange(place, with: Data(String(repeating: "0", count: 64).utf8))
    try file.write(to: folder.url.appending(path: "n.sqlite"))
    try expect(
      "verify", "n.sqlite", status: 1,
      output: "the metadata's \(name)Hash does not match the model in the store\n",
      errors: "1 finding\n")
  }

  @Test func manyRowsComeWhole() throws {
    let rows = (1...3000).map { "{\"name\": \"t\($0)\"}" }.joined(separator: ",")
    try expect("load", "n.sqlite", "-", input: "{\"Tag\": [\(rows)]}", output: "Tag: 3000\n")
    for evaluator in ["store", "memory"] {
      for format in ["json", "csv"] {
        let result = try run(
          "fetch", "n.sqlite", "Tag", "--sort", "name", "--format", format, "--evaluator", evaluator)
        let lines = result.output.split(separator: "\n")
        #expect(result.status == 0 && lines.count == (format == "json" ? 3002 : 3001))
        #expect(lines.first == (format == "json" ? "[" : "@id,name"))
        if format == "json" {
          #expect(lines.last == "]" && lines.dropLast(2).dropFirst().allSatisfy { $0.hasSuffix("},") })
          #expect(lines.dropLast().last?.hasSuffix("}") == true)
        }
      }
    }
    try expect("fetch", "n.sqlite", "Note", "--format", "json", output: "[\n]\n")
  }

  /// An accent makes one character with the separator before it, and a reader still sees the separator.
  @Test func separatorsWithAccentsAreQuoted() throws {
    try expect(
      "load", "n.sqlite", "-", input: #"{"Tag": [{"name": "a,\u0301\"\u0301b"}]}"#, output: "Tag: 1\n")
    let rows = try run("fetch", "n.sqlite", "Tag", "--format", "csv").output
    let end = Array(",\"a,\u{301}\"\"\u{301}b\"\n".utf8)
    #expect(Array(rows.utf8.suffix(end.count)) == end)
  }

  @Test func informationIsThatOfTheStore() throws {
    try load()
    let lines = try run("info", "n.sqlite").output.split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
    #expect(lines[0] == "type             sqlite, format 1")
    #expect(lines[2] == "model            Notes, version 1")
    #expect(lines[3] == "model id         0B0B2D52-8E5A-4F0B-9E0C-7D5B0D2F6A10")
    for (line, name) in zip(lines[4...6], ["data", "layout", "definition"]) {
      #expect(line.wholeMatch(of: /(\w+) hash +[0-9a-f]{64}/)?.1 == name[...])
    }
    #expect(
      lines.suffix(7) == [
        "Entity  Objects", "------  -------", "Item    0", "Note    2", "Folder  1", "Tag     1", "",
      ]
    )
  }

  /// A store that somebody else has made must not move the cursor, or forge lines.
  @Test func controlCharactersAreReplaced() throws {
    let dump = try run("dump", "n.sqlite").output
    let value = #"v\nmodel            Other\u001b]0;title\u0007\u009b2J"#
    let planted = dump.replacing("\"metadata\":{", with: "\"metadata\":{\"app.x\":\"\(value)\",")
    #expect(try run("load", "planted.sqlite", "-", input: planted).status == 0)
    let info = try run("info", "planted.sqlite").output
    #expect(info.contains("v\u{FFFD}model            Other\u{FFFD}]0;title\u{FFFD}\u{FFFD}2J\n"), "\(info)")
    #expect(
      try run("load", "n.sqlite", "-", input: #"{"Folder": [{"name": "a\u009b2J\tb\u001b"}]}"#).status == 0)
    let table = try run("fetch", "n.sqlite", "Folder").output
    #expect(table.contains("a\u{FFFD}2J\u{FFFD}b\u{FFFD}"), "\(table)")
    try expect(
      "load", "n.sqlite", "-",
      input: #"{"@entity": "nothing\u001b[2J"}"# + "\n" + #"{"@entity": "nobody\u009b"}"#, status: 1,
      errors: """
        Error: line 1: the model has no entity 'nothing\u{FFFD}[2J'
        line 2: the model has no entity 'nobody\u{FFFD}'

        """)
  }

  @Test func theSizeIsThatOfTheLinkedStore() throws {
    let scan = String(repeating: "AAAA", count: 100_000)
    try expect(
      "load", "n.sqlite", "-", input: #"{"Note": [{"text": "x", "scan": "\#(scan)"}]}"#, output: "Note: 1\n")
    let path = folder.url.appending(path: "link").path
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "n.sqlite")
    func size(_ store: String) throws -> Int? {
      try run("info", store).output.firstMatch(of: /size +([0-9]+) bytes/).flatMap { Int($0.output.1) }
    }
    let linked = try #require(try size("link"))
    let direct = try #require(try size("n.sqlite"))
    #expect(linked > 300_000 && linked == direct)
  }

  /// Each load is a process of its own. How many there are is up to `CDGEN_STRESS`.
  @Test func severalProcessesAtOnceLoseNothing() async throws {
    let count = ProcessInfo.processInfo.environment["CDGEN_STRESS"].flatMap { Int($0) } ?? 10
    let url = folder.url
    let input =
      #"{"Tag": [{"@id": "t", "name": "a"}], "Note": [{"text": "x", "tags": ["t"]}, {"text": "y"}]}"#
    let statuses = try await withThrowingTaskGroup(of: [Int32].self) { group in
      for _ in 0..<2 {
        group.addTask {
          try (0..<count).map { _ in
            try BuiltTool.cdstore.run(["load", "n.sqlite", "-"], in: url, input: input).status
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(statuses == [Int32](repeating: 0, count: 2 * count))
    try expect("fetch", "n.sqlite", "Tag", "--count", output: "\(2 * count)\n")
    try expect(
      "fetch", "n.sqlite", "Note", "--where", "tags.@count == 1", "--count", output: "\(2 * count)\n")
    let rows = try run("fetch", "n.sqlite", "Note", "--format", "csv").output.split(separator: "\n")
      .dropFirst()
    #expect(Set(rows.compactMap { $0.split(separator: ",").first }).count == 4 * count)
    try expect("verify", "n.sqlite", output: "n.sqlite is whole\n")
  }

  @Test(arguments: ["xml", "binary"]) func storesOfOtherKindsDoTheSame(_ type: String) throws {
    let created = try run("create", "m.store", "--model", "Notes.cdmodel", "--type", type)
    #expect(created.output == "m.store: Notes, version 1\n" && created.status == 0)
    #expect(try run("load", "m.store", "data.json").status == 0)
    #expect(try run("info", "m.store").output.hasPrefix("type             \(type), format 1"))
    #expect(try run("verify", "m.store").output == "m.store is whole\n")
    let rows = try run("fetch", "m.store", "Note", "--sort", "text", "--format", "json")
    #expect(rows.status == 0 && rows.output.contains("Buy tea"))
    // There and back: the URIs are those of before.
    #expect(
      try run("convert", "m.store", "back.sqlite", "--type", "sqlite").output == "back.sqlite: sqlite\n")
    #expect(try run("convert", "back.sqlite", "again", "--type", type).status == 0)
    for store in ["back.sqlite", "again"] {
      #expect(try run("fetch", store, "Note", "--sort", "text", "--format", "json").output == rows.output)
      #expect(try run("verify", store).status == 0)
    }
  }

  /// As a command leaves it that was interrupted.
  @Test(arguments: ["sqlite", "xml", "binary"]) func anEmptyFileIsNoStore(_ type: String) throws {
    try folder.write("", to: "m.store")
    #expect(try run("create", "m.store", "--model", "Notes.cdmodel", "--type", type).status == 0)
    #expect(try run("verify", "m.store").output == "m.store is whole\n")
    try folder.write("", to: "copy.store")
    #expect(try run("convert", "m.store", "copy.store", "--type", type).status == 0)
    #expect(try run("verify", "copy.store").output == "copy.store is whole\n")
    #expect(try run("convert", "m.store", "copy.store", "--type", type).status == 1)
  }

  @Test func mistakesInArgumentsAreSaid() throws {
    try expect(
      "create", "n.sqlite", "--model", "Notes.cdmodel", status: 1,
      errors: "Error: the file n.sqlite already exists; it was not changed\n")
    try expect(
      "create", "m.sqlite", "--model", "Notes.cdmodel", "--version", "3", status: 1,
      errors: "Error: Notes.cdmodel: the model has no version 3; it has 1\n")
    try expect(
      "fetch", "none.sqlite", "Note", status: 1, errors: "Error: there is no store at none.sqlite\n")
    #expect(try run("create", "m.x", "--model", "Notes.cdmodel", "--type", "yaml").status == 64)
    try expect(
      "convert", "n.sqlite", "n.sqlite", "--type", "xml", status: 1,
      errors: "Error: the file n.sqlite already exists; it was not changed\n")
    #expect(try run("fetch", "n.sqlite").status == 64)
    #expect(try run("fetch", "n.sqlite", "Note", "--limit", "-1").status == 64)
    #expect(try run("fetch", "n.sqlite", "Note", "--args", "{").status == 64)
    #expect(try run("filter").status == 64)
  }
}
