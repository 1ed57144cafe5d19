import CDModel
import CDSchema
import SeededRandom
import Testing

/// Models of a size, or with as many mistakes, as nobody writes by hand: they are checked in seconds, or refused with a
/// reason. `CDGEN_THOROUGH=1` makes them a few times as large.
@Suite(.timeLimit(.minutes(5))) struct LargeModelTests {
  private func line(_ count: Int, closing: Bool = false) -> String {
    "entities:\n"
      + (0..<count).map { number in
        let parent = number == 0 ? (closing ? count - 1 : nil) : number - 1
        return "  E\(number):\n" + (parent.map { "    parent: E\($0)\n" } ?? "")
          + "    attributes: { a\(number): String? }\n"
      }.joined()
  }

  @Test func aDeepLineOfEntitiesIsRefused() {
    let loaded = load(version: line(isThorough ? 2_000 : 1_100))
    #expect(
      loaded.diagnostics.map(\.description) == [
        "1.yaml:3005:13: error: 'E1001' has more than 1000 ancestors, which is the maximum; "
          + "let the entity inherit from an entity higher up"
      ])
    #expect(load(version: line(1_001)).diagnostics.isEmpty)
  }

  /// A table has the columns of all entities of a hierarchy, and three more.
  @Test(arguments: [998, 999]) func aTableWithTooManyColumnsIsRefused(_ count: Int) {
    func attributes(_ letter: String, _ count: Int) -> String {
      "{ " + (0..<count).map { "\(letter)\($0): String?" }.joined(separator: ", ") + " }"
    }
    let loaded = load(
      version: """
        entities:
          Base: { abstract: true }
          One: { parent: Base, attributes: \(attributes("a", 999)) }
          Two: { parent: Base, attributes: \(attributes("b", count)) }
        """)
    #expect(
      loaded.diagnostics.map(\.description)
        == (count == 998
          ? []
          : [
            "1.yaml:2:3: error: 'Base' and its subentities need a table of 2001 columns, but SQLite allows "
              + "2000; move properties to other entities"
          ]))
  }

  @Test func aLongCircleIsReportedOnce() throws {
    let loaded = load(version: line(2_000, closing: true))
    let found = try #require(loaded.diagnostics.first)
    #expect(loaded.diagnostics.count == 1)
    #expect(found.message.hasPrefix("entities cannot inherit in a circle: E0 → E1999 → E1998"))
    #expect(found.message.hasSuffix("→ … 1981 more … → E9 → E8 → E7 → E6 → E5 → E4 → E3 → E2 → E1 → E0"))
  }

  @Test func circlesAreFoundWhereverTheWalkBegins() {
    let loaded = load(
      version: """
        entities:
          Outside: { parent: B }
          Last: { parent: Outside }
          C: { parent: A }
          A: { parent: B }
          B: { parent: C }
          Own: { parent: Own }
          E: { parent: D }
          D: { parent: E }
        """)
    #expect(
      loaded.diagnostics.map(\.description) == [
        "1.yaml:4:16: error: entities cannot inherit in a circle: C → A → B → C",
        "1.yaml:7:18: error: 'Own' cannot be its own parent",
        "1.yaml:8:16: error: entities cannot inherit in a circle: E → D → E",
      ])
  }

  /// How many mistakes a model has.
  private static let mistakeCount = isThorough ? 1_500 : 500

  /// Loads a model with a budget that so many names spend, each of them compared with all.
  private func loadSpending(_ version: String) -> LoadedModel {
    let looks = Self.mistakeCount * (Self.mistakeCount - 100)
    return SuggestionBudget.run(looks: looks) { load(version: version) }
  }

  @Test func thousandsOfMisspeltNamesHaveTheFirstSuggestions() {
    let text =
      "entities:\n"
      + (0..<Self.mistakeCount)
      .map { "  Entity\($0):\n    parent: Entyti\($0)\n    attributes: { a: String? }\n" }.joined()
    let loaded = loadSpending(text)
    #expect(loaded.diagnostics.count == Self.mistakeCount)
    #expect(loaded.diagnostics.first?.suggestion == "Entity0")
    #expect(loaded.diagnostics.count { $0.suggestion != nil } > 100)
    #expect(loaded.diagnostics.last?.suggestion == nil)
  }

  @Test func thousandsOfMisspeltCases() {
    let numbers = 0..<Self.mistakeCount
    let cases = numbers.map { "case\($0): c\($0)" }.joined(separator: ", ")
    let attributes = numbers.map { "      a\($0): { type: Kind, default: csae\($0) }\n" }.joined()
    let loaded = loadSpending(
      """
      enums: { Kind: { type: String, cases: { \(cases) } } }
      entities:
        A:
          attributes:
      \(attributes)
      """)
    #expect(loaded.diagnostics.count == Self.mistakeCount)
  }

  /// How many entities or attributes the next version lacks or renames. Each could be any of the new ones.
  private static let changeCount = isThorough ? 1_900 : 700

  private func loadAll(_ versions: String...) -> LoadedModel {
    var files = ["model.yaml": Array("id: 183A65E1-536E-4E59-A122-249A1527F8AD\n".utf8)]
    for (place, text) in versions.enumerated() { files["\(place + 1).yaml"] = Array(text.utf8) }
    return ModelLoader.load(name: "Large", files: files)
  }

  @Test func thousandsOfEntitiesThatAreGone() {
    func entities(_ letter: String) -> String {
      "entities:\n"
        + (0..<Self.changeCount).map { "  \(letter)\($0): { attributes: { name: String } }\n" }.joined()
    }
    let loaded = loadAll(entities("E"), "basedOn: 1\n" + entities("F"))
    #expect(loaded.diagnostics.count == Self.changeCount)
    #expect(loaded.model != nil)
  }

  @Test func thousandsOfAttributesThatAreGone() {
    func attributes(_ letter: String) -> String {
      "entities:\n  A:\n    attributes:\n"
        + (0..<Self.changeCount).map { "      \(letter)\($0): String?\n" }.joined()
    }
    let loaded = loadAll(attributes("a"), "basedOn: 1\n" + attributes("b"))
    #expect(loaded.diagnostics.count == Self.changeCount)
    #expect(loaded.model != nil)
  }

  @Test func thousandsOfRenames() {
    let numbers = 0..<Self.changeCount
    let old = "entities:\n" + numbers.map { "  E\($0): { attributes: { name: String } }\n" }.joined()
    let new =
      "basedOn: 1\nentities:\n"
      + numbers.map { "  F\($0): { renamedFrom: E\($0), attributes: { name: String } }\n" }.joined()
    #expect(loadAll(old, new).diagnostics.isEmpty)
  }

  @Test func aLongChainOfDerivedAttributes() {
    let chain = (1..<1_000).map { "      d\($0): { type: String?, derived: d\($0 - 1) }\n" }.joined()
    #expect(loadAll("entities:\n  A:\n    attributes:\n      d0: String?\n" + chain).diagnostics.isEmpty)
    let circle =
      chain + "      first: { type: String?, derived: last }\n      last: { type: String?, derived: first }\n"
    let loaded = loadAll("entities:\n  A:\n    attributes:\n      d0: String?\n" + circle)
    #expect(
      loaded.diagnostics.map(\.message) == [
        "derived attributes cannot depend on themselves: A.first → A.last → A.first"
      ])
  }

  @Test func aDefaultWhosePatternBacktracks() {
    let loaded = loadAll(
      """
      entities:
        A:
          attributes:
            code: { type: String, pattern: "(a+)+b", default: \(String(repeating: "a", count: 50)) }
      """)
    #expect(
      loaded.diagnostics.map(\.message) == [
        "matching the default with '(a+)+b' takes too many steps, so objects with such a value could not be saved; "
          + "rewrite the pattern without repetitions within repetitions"
      ])
  }
}
