import Foundation
import SeededRandom
import Testing

/// `cdstore dump` and `cdstore load`, which must be inverses.
@Suite struct DumpTests: StoreCommands {
  let folder: TemporaryFolder

  static let version = """
    enums:
      Twist: { type: String, cases: { low: high, high: low } }
      Level: { type: Int16, cases: { a: 1, b: -7 } }
    composites:
      Place: { street: String, zip: Int16?, at: Date?, level: Level? }
    entities:
      Base: { abstract: true, attributes: { label: String? } }
      Thing:
        parent: Base
        attributes:
          text: String?
          flag: Bool?
          small: Int16?
          medium: Int32?
          large: Int64?
          single: Float?
          double: Double?
          amount: Decimal?
          moment: Date?
          bytes: Data?
          scan: { type: Data?, external: true }
          uid: UUID?
          link: URL?
          twist: Twist?
          level: { type: Level, default: b }
          place: Place?
          extra: { codable: My.Extra? }
          draft: { type: Bool, transient: true, default: false }
          partCount: { type: Int64, derived: parts.@count }
        relationships:
          owner: { to: "Owner?", inverse: things }
          partner: { to: "Thing?", inverse: partner }
          friends: { to: [Thing], inverse: friends }
          tags: { to: [Tag], inverse: things, ordered: true }
          parts: { to: [Part], inverse: thing, onDelete: cascade, ordered: true }
          watched: { to: [Owner], inverse: none }
          lock: { to: "Lock?", inverse: thing, onDelete: cascade }
      Special: { parent: Thing, attributes: { more: { type: Int64, default: 3 } } }
      Owner:
        attributes: { name: String }
        relationships: { things: { to: [Thing], inverse: owner } }
      Tag:
        attributes: { name: { type: String, maxLength: 20 } }
        unique: [[name]]
        relationships: { things: { to: [Thing], inverse: tags, ordered: true } }
      Part:
        attributes: { number: { type: Int64, min: 0 } }
        relationships: { thing: { to: Thing, inverse: parts }, next: { to: "Part?", inverse: none } }
      Lock:
        relationships: { thing: { to: Thing, inverse: lock } }

    """

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make("Things", in: folder, version: Self.version)
  }

  private func create(_ store: String, type: String = "sqlite") throws {
    _ = try succeed("create", store, "--model", "Things.cdmodel", "--type", type)
  }

  // MARK: There and back

  @Test(arguments: ["sqlite", "xml", "binary"], isThorough ? [1, 2, 3] : [1] as [UInt64])
  func everyValueAndRelationshipComesBack(type: String, seed: UInt64) throws {
    try create("a", type: type)
    var random = RandomThings(seed: seed)
    try folder.write(random.file(), to: "data.json")
    _ = try succeed("load", "a", "data.json")
    let dump = try succeed("dump", "a")
    try folder.write(dump, to: "dump.jsonl")
    #expect(dump.split(separator: "\n").count > 40)

    // A new store is the same store, in any format. Whatever store has written a dump, its form is the same.
    let others = isThorough || type == "sqlite" ? ["sqlite", "xml", "binary"] : ["sqlite"]
    for (store, other) in zip(["b", "c", "d"], others) {
      _ = try succeed("load", store, "dump.jsonl", "--type", other)
      #expect(try succeed("dump", store) == dump)
      #expect(try succeed("verify", store) == "\(store) is whole\n")
      #expect(try succeed("info", store).contains("type             \(other)"))
    }
    // An empty store gets the same objects under its own UUID.
    try create("e", type: type)
    _ = try succeed("load", "e", "-", input: dump)
    #expect(try objects(succeed("dump", "e")) == objects(dump))
    #expect(try succeed("verify", "e") == "e is whole\n")
    // What the dump does not have is computed.
    for store in ["b", "e"] {
      #expect(
        try succeed("fetch", store, "Thing", "--where", "partCount == parts.@count", "--count")
          == succeed("fetch", "a", "Thing", "--count"))
    }
  }

  @Test func theHardValuesComeBackToTheBit() throws {
    try create("a")
    let rows = #"""
      {"@entity": "Thing", "@id": 1, "text": "a\u0000b\u001f \"\\ é e\u0301 \ud83d\ude00\n", "large": 9223372036854775807,
       "small": -32768, "medium": 2147483647, "double": {"$double": "inf"}, "single": {"$double": "-inf"},
       "amount": "12345678901234567890123456789012345678", "moment": {"$referenceDate": 0.1}, "twist": "low",
       "level": "b", "extra": {"$json": "{\"b\" : 1.0, \"a\":[ null ]}"}, "bytes": ""}
      {"@entity": "Special", "@id": 2, "large": -9223372036854775808, "double": 5e-324, "single": 3.4028234663852886e38,
       "amount": "-0.00000000000000000000000000000000000001", "moment": {"$referenceDate": 725760000.1234567}, "twist": "high",
       "extra": {"$json": "null"}, "link": "https://example.org/a%20b?c=d#e", "more": 7}
      {"@entity": "Thing", "@id": 3, "double": -1.7976931348623157e308, "moment": {"$referenceDate": -63114076800.0},
       "extra": {"$json": {"x": 1}}, "place": {"street": "", "at": {"$referenceDate": 1e-9}, "level": 1}}

      """#
    #expect(try succeed("load", "a", "-", input: rows) == "Thing: 2\nSpecial: 1\n")
    let dump = try succeed("dump", "a")
    for part in [
      #""large":9223372036854775807"#, #""large":-9223372036854775808"#, #""double":{"$double":"inf"}"#,
      #""single":{"$double":"-inf"}"#, #""double":5e-324"#, #""$referenceDate":725760000.1234567}"#,
      #""twist":"low""#, #""twist":"high""#, #""extra":{"$json":"{\"b\" : 1.0, \"a\":[ null ]}"}"#,
      #""extra":{"$json":"null"}"#, #""$decimal":"12345678901234567890123456789012345678""#,
    ] { #expect(dump.contains(part), "\(part)\n\(dump)") }
    _ = try succeed("load", "b", "-", input: dump)
    #expect(try succeed("dump", "b") == dump)
  }

  /// The levels of a codable and of its row together can be too many for JSON.
  @Test func deepCodablesComeBack() throws {
    try create("a")
    try create("c")
    var texts = (125...130).map { depth in
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    // These are no JSON, although they would be in the middle of it.
    texts += ["", "1], [2", "1, 2"]
    let rows = texts.map { #"{"@entity": "Thing", "extra": {"$json": "\#($0)"}}"# }
    try succeed("load", "a", "-", input: rows.joined(separator: "\n"))
    let dump = try succeed("dump", "a")
    for text in texts.suffix(3) { #expect(dump.contains(#""extra":{"$json":"\#(text)"}"#), "\(text)") }
    try succeed("load", "b", "-", input: dump)
    #expect(try succeed("dump", "b") == dump)
    try succeed("load", "c", "-", input: succeed("fetch", "a", "Thing", "--format", "json"))
    #expect(try objects(succeed("dump", "c")) == objects(dump))
  }

  /// The order and the form that the help describes.
  @Test func subentitiesFollowTheirParentEntity() throws {
    try SampleModel.make(
      "Zoo", in: folder,
      version: """
        enums: { Diet: { type: Int16, cases: { plants: 1, meat: 2 } } }
        entities:
          Cat: { parent: Animal }
          Keeper: { attributes: { name: String } }
          Animal:
            attributes: { born: Date, diet: Diet, age: { type: Int64, derived: 1 + 1 } }

        """)
    try succeed("create", "zoo", "--model", "Zoo.cdmodel")
    let rows = #"""
      [{"@entity": "Cat", "@id": 1, "born": {"$referenceDate": 5.5}, "diet": "meat"},
       {"@entity": "Animal", "@id": 2, "born": {"$referenceDate": 7.5}, "diet": "plants"},
       {"@entity": "Keeper", "@id": 3, "name": "Ada"}]
      """#
    try succeed("load", "zoo", "-", input: rows)
    let lines = try succeed("dump", "zoo").split(separator: "\n").dropFirst().dropLast()
    let entities = lines.map { $0.contains("/Keeper/") ? "Keeper" : $0.contains("/Cat/") ? "Cat" : "Animal" }
    #expect(entities == ["Keeper", "Animal", "Cat"])
    let cat = try #require(lines.last)
    #expect(cat.contains(#""born":{"$referenceDate":5.5},"diet":"meat"}"#), "\(cat)")
  }

  @Test func numbersOfDeletedObjectsAreNotUsedAgain() throws {
    try create("a")
    _ = try succeed("load", "a", "-", input: #"{"Owner": [{"name": "x"}, {"name": "y"}]}"#)
    // The second object is gone: the counter knows it, and no row does.
    var lines = try succeed("dump", "a").split(separator: "\n").map(String.init)
    let next = try #require(lines[0].firstMatch(of: /"Owner":(\d+)/)?.output.1)
    #expect(lines.count == 4 && Int(next) ?? 0 >= 3)
    lines.remove(at: 2)
    lines[2] = lines[2].replacing("2", with: "1")
    _ = try succeed("load", "b", "-", input: lines.joined(separator: "\n"))
    _ = try succeed("load", "b", "-", input: #"{"@entity": "Owner", "name": "z"}"#)
    let ids = try succeed("fetch", "b", "Owner", "--format", "csv").split(separator: "\n").dropFirst()
    #expect(
      ids.count == 2 && ids.contains { $0.contains("/p1,") } && ids.contains { $0.contains("/p\(next),") })
  }

  @Test func otherNumbersAreMovedTogetherAndANoteSaysSo() throws {
    try create("a")
    _ = try succeed(
      "load", "a", "-",
      input: #"{"Owner": [{"@id": 1, "name": "x"}], "Thing": [{"text": "t", "owner": 1, "tags": []}]}"#)
    let dump = try succeed("dump", "a")
    let result = try run("load", "a", "-", input: dump)
    #expect(result.status == 0 && result.output == "Thing: 1\nOwner: 1\n", "\(result)")
    let notes = result.errors.replacing(/[0-9A-F-]{36}/, with: "S")
    #expect(
      notes == """
        note: cdgen://S/Base/pN is now cdgen://S/Base/p(N + 1)
        note: cdgen://S/Owner/pN is now cdgen://S/Owner/p(N + 1)

        """)
    let rows = try succeed("fetch", "a", "Thing", "--format", "csv", "--where", "owner.name == 'x'")
    #expect(rows.contains("/Thing/p2,") && rows.contains("/Owner/p2,"))
  }

  @Test func whatAFetchPrintsCanBeLoaded() throws {
    try create("a")
    var random = RandomThings(seed: 4)
    try folder.write(random.file(), to: "data.json")
    _ = try succeed("load", "a", "data.json")
    try create("b")
    let entities = ["Base", "Owner", "Tag", "Part", "Lock"]
    let rows = try entities.map { try succeed("fetch", "a", $0 == "Base" ? "Thing" : $0, "--format", "json") }
    _ = try succeed("load", "b", "-", input: rows.joined())
    for entity in ["Thing", "Owner", "Tag", "Part", "Lock"] {
      let (old, new) = (
        try succeed("fetch", "a", entity, "--format", "json"),
        try succeed("fetch", "b", entity, "--format", "json")
      )
      #expect(
        old.replacing(/cdgen:\/\/[0-9A-F-]{36}/, with: "S")
          == new.replacing(/cdgen:\/\/[0-9A-F-]{36}/, with: "S"))
    }
    // Rows alone refer to objects that the same store has.
    let one = try succeed("fetch", "a", "Tag", "--format", "json", "--limit", "1")
    let twice = try run("load", "a", "-", input: one)
    #expect(twice.status == 1 && twice.errors.contains("line 2 and cdgen://"), "\(twice.errors)")
    let key = try succeed("fetch", "a", "Owner", "--format", "json", "--limit", "1")
    #expect(try run("load", "a", "-", input: key).status == 0)
  }

  /// The example of the help, and the same without its second part.
  @Test func theRelatedObjectsOfAFetchAreNeededToo() throws {
    try create("a")
    try create("b")
    let rows = #"""
      [{"@entity": "Owner", "@id": "o", "name": "x"}, {"@entity": "Thing", "@id": "t", "owner": "o"}]
      """#
    try succeed("load", "a", "-", input: rows)
    let things = try succeed("fetch", "a", "Thing", "--format", "json")
    let alone = try run("load", "b", "-", input: things)
    #expect(alone.status == 1)
    #expect(
      alone.errors.contains("neither the file nor the store has an object of 'Owner'"), "\(alone.errors)")
    let owners = try succeed("fetch", "a", "Owner", "--format", "json")
    try succeed("load", "b", "-", input: things + owners)
    #expect(try succeed("fetch", "b", "Thing", "--where", "owner.name == 'x'", "--count") == "1\n")
    #expect(try succeed("load", "--help").contains("The objects to which the rows refer"))
  }

  @Test func oneSideOfARelationshipIsEnough() throws {
    try create("a")
    let rows = #"""
      [{"@entity": "Part", "@id": "p", "number": 1},
       {"@entity": "Lock", "@id": "l"},
       {"@entity": "Thing", "@id": "t", "parts": ["q", "p"], "lock": "l", "partner": "u", "friends": ["u", "t"]},
       {"@entity": "Special", "@id": "u", "tags": ["x"]},
       {"@entity": "Part", "@id": "q", "number": 2, "next": "p"},
       {"@entity": "Tag", "@id": "x", "name": "x", "things": ["t"]},
       {"@entity": "Owner", "name": "o", "things": ["u", "t"]}]
      """#
    _ = try succeed("load", "a", "-", input: rows)
    #expect(try succeed("verify", "a") == "a is whole\n")
    for condition in [
      "parts.@count == 2 AND lock != nil AND partner != nil AND friends.@count == 2 AND partCount == 2",
      "owner.name == 'o' AND partner.partner == SELF AND tags.@count == 1",
    ] {
      let count = try succeed("fetch", "a", "Thing", "--where", condition, "--count")
      #expect(count == (condition.contains("owner") ? "2\n" : "1\n"), "\(condition)")
    }
    // The list has its order: q before p.
    #expect(try succeed("dump", "a").contains(#""parts":["cdgen://"#))
    let dump = try succeed("dump", "a").replacing(/cdgen:\/\/[0-9A-F-]{36}/, with: "S")
    #expect(dump.contains(#""parts":["S/Part/p2","S/Part/p1"]"#))
    #expect(
      dump.contains(#""things":["S/Thing/p1","S/Special/p2"]"#)
        || dump.contains(#""things":["S/Special/p2","S/Thing/p1"]"#))
  }

  // MARK: Mistakes

  private func refuse(
    _ input: String, _ errors: String, options: [String] = [], location: SourceLocation = #_sourceLocation
  ) throws {
    let result = try BuiltTool.cdstore.run(["load", "a", "-"] + options, in: folder.url, input: input)
    #expect(
      result == .init(status: 1, output: "", errors: "Error: " + errors + "\n"), sourceLocation: location)
    #expect(try succeed("fetch", "a", "Thing", "--count") == "0\n", sourceLocation: location)
    #expect(try succeed("fetch", "a", "Owner", "--count") == "0\n", sourceLocation: location)
  }

  @Test func mistakesHaveLines() throws {
    try create("a")
    let good = #"{"@entity": "Owner", "name": "o"}"# + "\n"
    try refuse(good + "{\"@entity\": \"Owner\", \"name\" \"x\"}\n", "line 2, column 29: expected ':'")
    try refuse(good + "\n7\n", "line 3: this is not the JSON object of a row")
    try refuse(
      good + "{\"@entity\": \"Owner\",",
      "line 2: the file ends within this object, so that it is incomplete; write it again")
    try refuse(
      "[\n" + good,
      "the list that begins in line 1 has no end, so that the file is incomplete; write it again")
    try refuse(
      good + """
        {"@entity": "Ownr"}
        {"@entity": "Base"}
        {"@entity": 5}
        {"@id": [], "@entity": "Owner"}
        {"name": "y"}
        {"@entity": "Owner", "@id": "x", "name": "y"}
        {"@entity": "Owner", "@id": "x", "name": "z"}
        """,
      """
      line 2: the model has no entity 'Ownr'; did you mean 'Owner'?
      line 3: 'Base' is abstract; name one of its subentities
      line 4: @entity takes the name of an entity, not an integer
      line 5: @id takes a text or an integer, not a list
      line 6: the row does not name its entity; add "@entity", or name the entity of all rows with --entity
      line 8: another row has the @id 'x'
      """)
    try refuse(
      good + """
        {"@entity": "Thing", "large": "x", "txt": 1, "owner": "nobody", "friends": 5, "level": "c"}
        {"@entity": "Thing", "owner": ["x"], "tags": null}
        """,
      """
      line 2, large: Int64 does not take a string such as this
      line 2, txt: the entity has no such property; did you mean 'text'?
      line 2, owner: neither the file nor the store has an object of 'Owner' with the @id 'nobody'; load its row with this one
      line 2, level: Int16 does not take a string such as this
      line 3, owner: takes one @id or null, not a list
      """)
    try refuse(
      good + #"{"@entity": "Thing", "friends": 5}"#, "line 2, friends: takes a list of @ids, not an integer")
  }

  @Test func brokenRulesHaveLines() throws {
    try create("a")
    let owner = #"{"@entity": "Owner", "@id": "o", "name": "o"}"# + "\n"
    try refuse(
      owner + #"{"@entity": "Thing", "@id": "t"}"# + "\n"
        + #"{"@entity": "Part", "number": -1, "thing": "t"}"#,
      "line 3, number: is -1, below the minimum of 0")
    try refuse(owner + #"{"@entity": "Owner"}"#, "line 2, name: is mandatory and has no value")
    try refuse(
      owner + #"{"@entity": "Tag", "name": "x"}"# + "\n" + #"{"@entity": "Tag", "name": "x"}"#,
      "line 2 and line 3: objects of 'Tag' have the same name; change or remove one of them")
    try refuse(
      owner + #"{"@entity": "Part", "@id": 1, "number": 1}"#, "line 2, thing: is mandatory and has no value")
    try refuse(
      owner + #"{"@entity": "Part", "number": 1, "thing": "o"}"#,
      "line 2, thing: neither the file nor the store has an object of 'Thing' with the @id 'o'; load its row with this one"
    )
    // The first one was saved long before.
    var tags = (1...2500).map { #"{"@entity": "Tag", "name": "\#($0)"}"# }
    tags[2399] = tags[0]
    let twice = try run("load", "a", "-", input: tags.joined(separator: "\n"))
    #expect(twice.status == 1 && twice.errors.contains("line 2400"), "\(twice.errors)")
    #expect(!twice.errors.contains("cdgen://"), "\(twice.errors)")
  }

  @Test func aDamagedDumpIsRefused() throws {
    try create("a")
    _ = try succeed("load", "a", "-", input: #"{"Owner": [{"name": "x"}, {"name": "y"}]}"#)
    let dump = try succeed("dump", "a")
    var lines = dump.split(separator: "\n").map(String.init)
    func refuse(_ lines: [String], _ error: String, location: SourceLocation = #_sourceLocation) throws {
      let result = try run("load", "new", "-", input: lines.joined(separator: "\n"))
      #expect(result == .init(status: 1, output: "", errors: "Error: \(error)\n"), sourceLocation: location)
      // A store that was created for the dump goes again.
      #expect(!folder.exists("new"), sourceLocation: location)
    }
    try refuse(
      Array(lines.dropLast()),
      "the dump is incomplete, because its last line is missing; dump the store again")
    lines.remove(at: 1)
    try refuse(lines, "the dump has 1 objects, but 2 were written; dump the store again")
    lines = dump.split(separator: "\n").map(String.init)
    lines.insert(lines[1], at: 1)
    lines[4] = #"{"@end":{"objects":3}}"#
    let id = try #require(lines[1].firstMatch(of: /cdgen:[^"]+/)?.output)
    try refuse(lines, "line 3: another row has the @id '\(id)'")
    try refuse(
      [lines[0].replacing(#""format":1"#, with: #""format":2"#)] + lines.dropFirst(),
      "line 1: a newer release of cdgen wrote this dump; load it with that release")
    let other = try run("load", "new", "-", input: "{\"Owner\": []}")
    #expect(other == .init(status: 1, output: "", errors: "Error: there is no store at new\n"))
    #expect(try run("load", "a", "-", "--type", "xml", input: dump).status == 64)
  }

  @Test func numbersThatATypeCannotHoldAreRefused() throws {
    try create("a")
    let row = #"{"@entity": "Thing", "#
    try refuse(
      row + #""single": 1e300}"# + "\n" + row + #""small": 40000}"# + "\n" + row
        + #""double": {"$double": "nan"}}"#,
      """
      line 1, single: Float does not take a number such as this
      line 2, small: Int16 does not take an integer such as this
      """)
    try refuse(row + #""double": {"$double": "nan"}}"#, "line 1, double: is not a number")
    try refuse(row + #""large": 99999999999999999999}"#, "line 1, column 31: a number out of range")
    try refuse(row + #""double": 1e400}"#, "line 1, column 32: a number out of range")
    try refuse(row + #""double": NaN}"#, "line 1, column 32: expected a value")
    for number in ["9223372036854775807", "9223372036854775806", "4611686018427387904"] {
      try refuse(
        #"{"@id": "cdgen://\#(UUID().uuidString)/Owner/p\#(number)", "name": "x"}"#,
        "the number p\(number) of 'Owner' is too large")
    }
  }

  @Test func numbersThatWouldLoseDigitsAreRefused() throws {
    try create("a")
    let row = #"{"@entity": "Thing", "#
    try refuse(
      row + #""amount": 123456789012345678.25}"# + "\n" + row + #""large": 9007199254740993.0}"# + "\n" + row
        + #""large": -9007199254740993.0}"#,
      #"""
      line 1, amount: a number of more than 15 digits may lose some of them; write it as a text, or as {"$decimal": "…"}
      line 2, large: a number this large may lose digits; write it without a point and an exponent
      line 3, large: a number this large may lose digits; write it without a point and an exponent
      """#)
    try refuse(
      #"{"Thing": [{"amount": 0.1234567890123456}]}"#,
      #"Thing row 1, amount: a number of more than 15 digits may lose some of them; write it as a text, or as "#
        + #"{"$decimal": "…"}"#)
    let text = "123456789012345678901234567890123456789012345.67"
    let fraction = "0.1234567890123456789012345678901234567890123456789"
    let mistake = "a Decimal cannot hold this number; it has at most 38 digits"
    try refuse(
      row + #""amount": {"$decimal": "\#(text)"}}"# + "\n" + row + #""amount": "\#(fraction)"}"#,
      "line 1, amount: \(mistake)\nline 2, amount: \(mistake)")
    // Some numbers of 39 digits fit. Zeros need none.
    let largest = "340282366920938463463374607431768211455"
    let numbers = [
      ("amount", "\"\(largest)\"", largest), ("amount", #"{"$decimal": "\#(largest)"}"#, largest),
      ("amount", "\"+00.50e0\"", "0.5"), ("amount", "9.99", "9.99"), ("amount", "1e3", "1000"),
      ("amount", "-0.00123456789012345", "-0.00123456789012345"),
      ("amount", "\"123456789012345678.25\"", "123456789012345678.25"),
      ("amount", "1e20", "100000000000000000000"), ("large", "9007199254740993", "9007199254740993"),
      ("large", "9007199254740991.0", "9007199254740991"), ("large", "1e3", "1000"),
    ]
    for (name, number, expected) in numbers {
      try succeed("load", "a", "-", input: row + #""text": "\#(expected)", "\#(name)": \#(number)}"#)
    }
    let dump = try succeed("dump", "a")
    for (name, _, expected) in numbers {
      let value = name == "large" ? expected : #"{"$decimal":"\#(expected)"}"#
      #expect(dump.contains(#""\#(name)":\#(value)"#), "\(value)\n\(dump)")
    }
  }

  @Test func theBeginningOfAFileIsRead() throws {
    try create("a")
    try refuse(#"{"@entity": "Owner", "name" "x"}"#, "line 1, column 29: expected ':'")
    try refuse("null", "line 1: this is not the JSON object of a row")
    try refuse(
      #"{"@end": {"objects": 2}}"#, "the dump has 0 objects, but 2 were written; dump the store again")
    let dump = try succeed("dump", "a")
    for count in [1, 100] {
      let cut = try run("load", "new", "-", input: String(dump.prefix(count)))
      #expect(
        cut
          == .init(
            status: 1, output: "",
            errors:
              "Error: line 1: the file ends within this object, so that it is incomplete; write it again\n"))
      #expect(!folder.exists("new"))
    }
    // Some programs write this mark before UTF-8.
    let mark = "\u{FEFF}"
    _ = try succeed("load", "b", "-", input: mark + dump)
    #expect(try succeed("load", "b", "-", input: mark + #"{"Owner": [{"name": "x"}]}"#) == "Owner: 1\n")
    #expect(
      try succeed("load", "b", "-", input: mark + #"[{"@entity": "Owner", "name": "y"}]"#) == "Owner: 1\n")
  }

  @Test func aDumpOfAnotherModelIsRefused() throws {
    try create("a")
    try SampleModel.make(in: folder)
    _ = try succeed("create", "notes", "--model", "Notes.cdmodel")
    _ = try succeed("load", "notes", "-", input: #"{"Note": [{"text": "x"}], "Folder": [{"name": "y"}]}"#)
    let dump = try succeed("dump", "notes")
    try refuse(
      dump, "line 2: the model has no entity 'Note'\nline 3: the model has no entity 'Folder'")
    // The same entity with other properties.
    let other = dump.replacing("/Note/", with: "/Owner/").split(separator: "\n")[1]
    let result = try run("load", "a", "-", input: String(other))
    #expect(
      result.status == 1 && result.errors.contains("line 1, text: the entity has no such property"),
      "\(result)")
  }

  @Test func aHugeRowIsLoaded() throws {
    try create("a")
    let count = isThorough ? 2_000_000 : 400_000
    let text = String(repeating: "0123456789", count: count)
    _ = try succeed("load", "a", "-", input: #"{"@entity": "Thing", "text": "\#(text)"}"#)
    #expect(try succeed("fetch", "a", "Thing", "--where", "text ENDSWITH '789'", "--count") == "1\n")
    let dump = try succeed("dump", "a")
    #expect(dump.utf8.count > 10 * count)
    _ = try succeed("load", "b", "-", input: dump)
    #expect(try succeed("dump", "b") == dump)
    try refuseCut(dump)
  }

  private func refuseCut(_ dump: String) throws {
    let result = try run("load", "new", "-", input: String(dump.prefix(dump.utf8.count / 2)))
    #expect(
      result.status == 1 && result.errors.hasPrefix("Error: line 2: the file ends within this object"),
      "\(result.errors.prefix(200))")
    #expect(!folder.exists("new"))
  }

  /// The writer of a named pipe writes once, and ends as soon as somebody has opened the pipe.
  @Test func aNamedPipeIsOpenedOnce() throws {
    try create("a")
    let pipe = folder.url.appending(path: "pipe").path
    try #require(mkfifo(pipe, 0o600) == 0)
    for number in 1...10 {
      let writer = Process()
      writer.executableURL = URL(filePath: "/bin/sh")
      writer.arguments = ["-c", "echo '{\"Owner\": [{\"name\": \"x\"}]}' > pipe"]
      writer.currentDirectoryURL = folder.url
      try writer.run()
      let reader = try BuiltTool.cdstore.start("load", "a", "pipe", in: folder.url)
      writer.waitUntilExit()
      // A second opening would wait for another writer for ever.
      let end = Date(timeIntervalSinceNow: 60)
      while reader.isRunning, Date() < end { Thread.sleep(forTimeInterval: 0.005) }
      let isWaiting = reader.isRunning
      if isWaiting { kill(reader.processIdentifier, SIGKILL) }
      try #require(!isWaiting, "the load waits for another writer")
      #expect(reader.terminationStatus == 0)
      #expect(try succeed("fetch", "a", "Owner", "--count") == "\(number)\n")
    }
  }

  // MARK: Killed halfway, and two at once

  @Test func aLoadThatIsKilledLeavesTheStoreAsItWas() throws {
    try create("a")
    _ = try succeed("load", "a", "-", input: #"{"Owner": [{"name": "x"}]}"#)
    let rows = (0..<20_000).map { #"{"@entity": "Owner", "@id": \#($0), "name": "\#($0)"}"# }
    try folder.write(rows.joined(separator: "\n"), to: "many.jsonl")
    for delay in [0.4, 1.0, 1.7] {
      let process = try BuiltTool.cdstore.start("load", "a", "many.jsonl", in: folder.url)
      Thread.sleep(forTimeInterval: delay)
      let isRunning = process.isRunning
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      let count = try succeed("fetch", "a", "Owner", "--count")
      #expect(isRunning ? count == "1\n" : count == "20001\n")
      #expect(try succeed("verify", "a") == "a is whole\n")
      if !isRunning { break }
    }
  }

  /// Writes a dump that takes some time to load, and whose last object is not valid.
  private func writeLongDump() throws {
    try create("a")
    let header = try #require(try succeed("dump", "a").split(separator: "\n").first)
    let rows = (0..<4_000).map { #"{"@entity": "Owner", "name": "\#($0)"}"# }
    let last = #"{"@entity": "Tag", "name": "a name that is longer than allowed"}"#
    try folder.write(
      ([String(header)] + rows + [last, #"{"@end":{"objects":4001}}"#]).joined(separator: "\n"),
      to: "dump.jsonl")
  }

  /// The folders of loads into new stores that have not ended.
  private func loadingFolders() throws -> [String] {
    try folder.names().filter { $0.hasPrefix(".cdstore-load-") }
  }

  /// Starts to load the dump into a new store, and stops the process while the store is being filled.
  private func startLoading(into store: String) throws -> Process {
    let process = try BuiltTool.cdstore.start("load", store, "dump.jsonl", in: folder.url)
    func isFilling() throws -> Bool {
      try loadingFolders().contains { folder.exists("\($0)/files/\(store)-wal") }
    }
    while try process.isRunning && !isFilling() { Thread.sleep(forTimeInterval: 0.002) }
    try #require(process.isRunning)
    kill(process.processIdentifier, SIGSTOP)
    return process
  }

  @Test func anUnfinishedLoadLeavesNoStoreAndTouchesNone() throws {
    try writeLongDump()
    let killed = try startLoading(into: "killed")
    kill(killed.processIdentifier, SIGKILL)
    killed.waitUntilExit()
    #expect(!folder.exists("killed"))
    // The next load removes the folder that is left, if it is old enough.
    let left = try loadingFolders()
    #expect(left.count == 1)
    for name in left {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -3600)],
        ofItemAtPath: folder.url.appending(path: name).path)
    }
    // Another process creates the store and saves objects, before the load fails.
    let failing = try startLoading(into: "new")
    try create("new")
    try succeed("load", "new", "-", input: #"{"@entity": "Owner", "name": "other"}"#)
    kill(failing.processIdentifier, SIGCONT)
    failing.waitUntilExit()
    #expect(failing.terminationReason == .exit && failing.terminationStatus == 1)
    #expect(try succeed("fetch", "new", "Owner", "--count") == "1\n")
    #expect(try loadingFolders().isEmpty)
  }

  @Test func nobodyElseReadsTheCopyOfStandardInput() throws {
    try create("a")
    let temporary = folder.url.appending(path: "temporary")
    try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = BuiltTool.cdstore.url
    process.arguments = ["load", "a", "-"]
    process.currentDirectoryURL = folder.url
    process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": temporary.path]) { $1 }
    let input = Pipe()
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    while try process.isRunning && folder.names(in: "temporary").isEmpty {
      Thread.sleep(forTimeInterval: 0.002)
    }
    let name = try #require(folder.names(in: "temporary").first)
    let permissions = try FileManager.default.attributesOfItem(
      atPath: temporary.appending(path: name).path)[.posixPermissions]
    #expect(permissions as? Int == 0o700)
    try input.fileHandleForWriting.write(contentsOf: Data(#"{"Owner": [{"name": "x"}]}"#.utf8))
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(try folder.names(in: "temporary").isEmpty)
  }

  @Test func twoLoadsAtOnceBothSucceed() async throws {
    try create("a")
    let url = folder.url
    let rows = (0..<500).map { #"{"@entity": "Owner", "@id": \#($0), "name": "\#($0)"}"# }
    let input = rows.joined(separator: "\n")
    let statuses = try await withThrowingTaskGroup(of: Int32.self) { group in
      for _ in 0..<4 {
        group.addTask { try BuiltTool.cdstore.run(["load", "a", "-"], in: url, input: input).status }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == [0, 0, 0, 0])
    #expect(try succeed("fetch", "a", "Owner", "--count") == "2000\n")
    #expect(try succeed("verify", "a") == "a is whole\n")
  }
}

/// Random objects of all types of attributes and all sorts of relationships, in the form of one JSON object.
struct RandomThings {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  private mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state ^ (state >> 31)) &* 0x9E37_79B9_7F4A_7C15
  }

  private mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % bound }

  private mutating func maybe(_ value: (inout Self) -> String) -> String {
    below(4) == 0 ? "null" : value(&self)
  }

  private mutating func finite() -> Double {
    let value = Double(bitPattern: next())
    return value.isFinite && value != 0 ? value : 0.1
  }

  private mutating func text() -> String {
    let pieces = ["a", "é", "e\\u0301", "\\n", "\\\"", "\\\\", "\\u0000", "😀", " ", "Ω", "\\t", "{", "]"]
    return "\"" + (0..<below(9)).map { _ in pieces[below(pieces.count)] }.joined() + "\""
  }

  private mutating func base64(_ count: Int) -> String {
    "\"" + Data((0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 40) }).base64EncodedString() + "\""
  }

  private mutating func list(_ count: Int, _ prefix: String) -> String {
    let ids = Set((0..<below(count)).map { _ in below(count) }).sorted { _, _ in below(2) == 0 }
    return "[" + ids.map { "\"\(prefix)\($0)\"" }.joined(separator: ", ") + "]"
  }

  mutating func file() -> String {
    let count = 12
    var things: [String] = []
    for number in 0..<count {
      var members = ["\"@id\": \"t\(number)\""]
      func add(_ name: String, _ value: String) { members.append("\"\(name)\": \(value)") }
      add("text", maybe { $0.text() })
      add("label", maybe { $0.text() })
      add("flag", maybe { $0.below(2) == 0 ? "true" : "false" })
      add("small", maybe { "\(Int16(truncatingIfNeeded: $0.next()))" })
      add("medium", maybe { "\(Int32(truncatingIfNeeded: $0.next()))" })
      add("large", maybe { "\(Int64(bitPattern: $0.next()))" })
      add(
        "single",
        maybe { "\(Double(Float($0.finite())))".replacing("inf", with: "1.0").replacing("nan", with: "2.0") })
      add("double", maybe { $0.below(8) == 0 ? #"{"$double": "inf"}"# : "\($0.finite())" })
      add("amount", maybe { #"{"$decimal": "\#(Int64(bitPattern: $0.next())).\#($0.below(1_000_000))"}"# })
      add("moment", maybe { #"{"$referenceDate": \#($0.finite())}"# })
      add("bytes", maybe { $0.base64($0.below(50)) })
      add("scan", maybe { $0.base64($0.below(3) * 70_000) })
      add(
        "uid",
        maybe { r in
          let digits = (0..<32).map { _ in String(r.below(16), radix: 16, uppercase: true) }.joined()
          let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)]
          return "\"" + parts.map { String(Array(digits)[$0.0..<$0.1]) }.joined(separator: "-") + "\""
        })
      add("link", maybe { "\"https://example.org/\($0.below(1000))?q=a%20b\"" })
      add("twist", maybe { $0.below(2) == 0 ? "\"low\"" : "\"high\"" })
      add("level", below(2) == 0 ? "\"a\"" : "\"b\"")
      add(
        "place",
        maybe { r in
          "{\"street\": \(r.text()), \"zip\": \(r.maybe { "\($0.below(30000))" }), "
            + "\"at\": \(r.maybe { #"{"$referenceDate": \#($0.finite())}"# }), \"level\": \(r.maybe { _ in "\"a\"" })}"
        })
      add("extra", maybe { r in "{\"k\": [\(r.below(9)), null, \(r.text())], \"d\": \(r.finite())}" })
      add("owner", maybe { "\"o\($0.below(4))\"" })
      add("tags", list(6, "g"))
      add("watched", list(4, "o"))
      if number % 2 == 0, number + 1 < count {
        add("partner", "\"t\(number + 1)\"")
        add("friends", list(count, "t"))
      }
      if number % 3 == 0 { add("lock", "\"l\(number)\"") }
      things.append("{" + members.joined(separator: ", ") + "}")
    }
    let special = things.enumerated().filter { $0.offset % 3 == 1 }.map(\.element)
    let plain = things.enumerated().filter { $0.offset % 3 != 1 }.map(\.element)
    let owners = (0..<4).map { "{\"@id\": \"o\($0)\", \"name\": \"\($0)\"}" }
    let tags = (0..<6).map { "{\"@id\": \"g\($0)\", \"name\": \"g\($0)\", \"things\": \(list(count, "t"))}" }
    let parts = (0..<20).map { number in
      "{\"@id\": \"p\(number)\", \"number\": \(number), \"thing\": \"t\(below(count))\", "
        + "\"next\": \(maybe { "\"p\($0.below(20))\"" })}"
    }
    let locks = stride(from: 0, to: count, by: 3).map { "{\"@id\": \"l\($0)\"}" }
    func entity(_ name: String, _ rows: [String]) -> String {
      "\"\(name)\": [" + rows.joined(separator: ",\n") + "]"
    }
    return "{"
      + [
        entity("Special", special), entity("Thing", plain), entity("Owner", owners), entity("Tag", tags),
        entity("Part", parts), entity("Lock", locks),
      ].joined(separator: ",\n") + "}"
  }
}
