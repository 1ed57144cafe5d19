import Foundation
import Testing

/// Rows for `cdstore load` that relate an object to two others, by a relationship that takes one.
@Suite struct ContradictionTests: StoreCommands {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make(
      "Party", in: folder,
      version: """
        entities:
          Category:
            attributes: { name: String? }
            relationships: { toDos: { to: [ToDo], inverse: category } }
          ToDo:
            relationships: { category: { to: "Category?", inverse: toDos } }
          Seat:
            relationships: { guest: { to: "Guest?", inverse: seat } }
          Guest:
            relationships:
              seat: { to: "Seat?", inverse: guest }
              partner: { to: "Guest?", inverse: partner }

        """)
    try succeed("create", "a", "--model", "Party.cdmodel")
  }

  private func refuse(
    _ input: String, _ parts: [String], location: SourceLocation = #_sourceLocation
  ) throws {
    let result = try run("load", "a", "-", input: input)
    #expect(result.status == 1 && result.output.isEmpty, "\(result)", sourceLocation: location)
    for part in parts + ["keep one of the two"] {
      #expect(result.errors.contains(part), "\(result.errors)", sourceLocation: location)
    }
    #expect(!result.errors.contains("cdgen://"), "\(result.errors)", sourceLocation: location)
    for entity in ["Category", "ToDo", "Seat", "Guest"] {
      #expect(try succeed("fetch", "a", entity, "--count") == "0\n", sourceLocation: location)
    }
  }

  @Test func anObjectInTwoListsIsRefused() throws {
    try refuse(
      #"""
      {"@entity": "Category", "@id": "work", "toDos": ["call"]}
      {"@entity": "Category", "@id": "home", "toDos": ["call"]}
      {"@entity": "ToDo", "@id": "call"}
      """#, ["Error: line 2, toDos: 'call' already has another 'category', the object of line 1; "])
    try refuse(
      #"""
      {"@entity": "Category", "@id": "work"}
      {"@entity": "Category", "@id": "home", "toDos": ["call"]}
      {"@entity": "ToDo", "@id": "call", "category": "work"}
      """#, ["Error: line 2, toDos: 'call' already has another 'category', the object of line 1; "])
    try refuse(
      #"""
      {"Category": [{"@id": "work", "toDos": ["call"]}, {"@id": "home", "toDos": ["call"]}],
       "ToDo": [{"@id": "call", "category": "work"}]}
      """#,
      [
        "Error: Category row 2, toDos: 'call' already has another 'category', because of Category row 1; "
      ])
    try refuse(
      #"""
      {"Category": [{"@id": "work"}, {"@id": "home", "toDos": ["call"]}],
       "ToDo": [{"@id": "call", "category": "work"}]}
      """#, ["ToDo row 1, category: the object already has another 'category', because of Category row 2; "])
  }

  @Test func twoPartnersOfOneObjectAreRefused() throws {
    // A different side of the relationship is stored in each case.
    try refuse(
      #"""
      {"@entity": "Seat", "@id": 1, "guest": 3}
      {"@entity": "Seat", "@id": 2, "guest": 3}
      {"@entity": "Guest", "@id": 3}
      """#, ["line 1", "line 2"])
    try refuse(
      #"""
      {"@entity": "Guest", "@id": 1, "seat": 3}
      {"@entity": "Guest", "@id": 2, "seat": 3}
      {"@entity": "Seat", "@id": 3}
      """#, ["line 1", "line 2"])
    try refuse(
      #"""
      {"@entity": "Guest", "@id": 1, "seat": 3}
      {"@entity": "Seat", "@id": 3}
      {"@entity": "Seat", "@id": 4, "guest": 1}
      """#, ["already has another '", "the object of line "])
    try refuse(
      #"""
      {"@entity": "Guest", "@id": 1, "partner": 2}
      {"@entity": "Guest", "@id": 2, "partner": 3}
      {"@entity": "Guest", "@id": 3}
      """#, ["Error: line 2, partner: the object already has another 'partner', the object of line 1; "])
    try refuse(
      #"{"Guest": [{"@id": 1, "seat": 3}, {"@id": 2, "seat": 3}], "Seat": [{"@id": 3}]}"#,
      ["Error: Guest row 2, seat: '3' already has another 'guest', because of Guest row 1; "])
  }

  @Test func sidesThatAgreeAreLoaded() throws {
    try succeed(
      "load", "a", "-",
      input: #"""
        {"@entity": "Category", "@id": "work", "name": "Work", "toDos": ["call", "mail"]}
        {"@entity": "ToDo", "@id": "call", "category": "work"}
        {"@entity": "ToDo", "@id": "mail", "category": null}
        {"@entity": "Guest", "@id": 1, "seat": 3, "partner": 2}
        {"@entity": "Guest", "@id": 2, "seat": null, "partner": 1}
        {"@entity": "Seat", "@id": 3, "guest": 1}
        """#)
    try succeed(
      "load", "a", "-",
      input: #"""
        {"Category": [{"@id": "home", "name": "Home", "toDos": ["shop"]}], "ToDo": [{"@id": "shop", "category": "home"}],
         "Guest": [{"@id": 1, "seat": 3, "partner": 2}, {"@id": 2, "partner": 1}], "Seat": [{"@id": 3, "guest": 1}]}
        """#)
    let count = try succeed(
      "fetch", "a", "Guest", "--where", "seat.guest == SELF AND partner.partner == SELF", "--count")
    #expect(count == "2\n")
    #expect(try succeed("fetch", "a", "ToDo", "--where", "category.name == 'Work'", "--count") == "2\n")
    // A new object may take what the store had before.
    let rows = try succeed("fetch", "a", "ToDo", "--where", "category.name == 'Home'", "--format", "csv")
    let shop = try #require(rows.firstMatch(of: /cdgen:[^,]+ToDo[^,\n]+/)?.output)
    try succeed(
      "load", "a", "-", input: #"{"@entity": "Category", "name": "New", "toDos": ["\#(shop)"]}"#)
    #expect(try succeed("fetch", "a", "ToDo", "--where", "category.name == 'New'", "--count") == "1\n")
    #expect(try succeed("verify", "a") == "a is whole\n")
  }
}
