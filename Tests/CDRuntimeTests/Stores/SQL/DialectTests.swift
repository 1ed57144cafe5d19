import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// One compiler for several databases: the texts of two dialects, side by side.
@Suite(.onceForAllKinds) struct DialectTests {
  private let plan: ModelPlan

  init() throws {
    plan = try ModelPlan(
      ManagedObjectModel(
        name: "Test", id: UUID(), versions: [PredicateModel.version], currentVersionNumber: 1))
  }

  /// Only the rows of a server leave large values out, and only those of `external:` attributes.
  @Test func rowsLeaveLargeValuesOut() throws {
    let plan = try ModelPlan(AlbumsModel.model)
    let later = ModelSQL(plan, PostgresDialect())
    let eager = ModelSQL(plan, SQLiteDialect())
    func large(_ column: String) -> String {
      "CASE WHEN octet_length(\(column)) > 4096 THEN CAST('' AS bytea) ELSE \(column) END"
    }
    for entity in plan.entities {
      let select = later.selects[entity.index]
      let expected = Set(plan.entities.filter { $0.isKind(of: entity) }.flatMap(\.externalSlots))
      #expect(select.sql.components(separatedBy: "CASE").count - 1 == expected.count)
      #expect(!eager.selects[entity.index].sql.contains("CASE"))
      #expect(!eager.rows[entity.index].selectByKey.contains("CASE"))
    }
    let photo = try #require(plan.entity("Photo"))
    #expect(later.selects[photo.index].sql.contains(large(#"t0."pixels""#)))
    #expect(later.selects[photo.index].sql.contains(large(#"t0."face""#)))
    let select = later.rows[photo.index].selectByKey
    #expect(
      select
        == #"SELECT _pk, _version, "title", \#(large(#""pixels""#)), \#(large(#""preview""#)), "album" FROM "Photo" "#
        + "WHERE _pk = ?")
    let left = photo.columns.indices.filter { later.select(photo, reading: $0) != nil }
    #expect(left == [1, 2])
    let reading = later.select(photo, reading: 1)
    #expect(reading == select.replacing(large(#""pixels""#), with: #""pixels""#))
  }

  /// A predicate, and its condition in each dialect; nil where the evaluator decides.
  struct Case: CustomTestStringConvertible {
    let format: String
    var entity = "Book"
    let sqlite: String?
    let postgres: String?

    var testDescription: String { format }
  }

  static let cases = [
    // Equality with nil
    Case(
      format: "pages == 3", sqlite: #"t0."pages" IS ?"#, postgres: #"t0."pages" = ?"#),
    Case(
      format: "pages != 3", sqlite: #"t0."pages" IS NOT ?"#, postgres: #"t0."pages" IS DISTINCT FROM ?"#),
    Case(
      format: "pages == sold", sqlite: #"t0."pages" IS t0."sold""#,
      postgres: #"t0."pages" IS NOT DISTINCT FROM t0."sold""#),
    Case(format: "title == 'a'", sqlite: #"t0."title" IS ?"#, postgres: #"t0."title" = ?"#),
    Case(format: "title != 'a'", sqlite: #"t0."title" IS NOT ?"#, postgres: #"t0."title" <> ?"#),
    Case(format: "author == nil", sqlite: #"t0."author" IS NULL"#, postgres: #"t0."author" IS NULL"#),
    Case(
      format: "NOT pages > 3", sqlite: #"(t0."pages" > ?) IS NOT 1"#,
      postgres: #"(t0."pages" > ?) IS NOT TRUE"#),
    Case(format: "title == 3", sqlite: "0", postgres: "FALSE"),
    Case(format: "title != 3 OR pages == 1", sqlite: "1", postgres: "TRUE"),
    // Types
    Case(
      format: "isNew == YES", sqlite: #"t0."isNew" IS ?"#,
      postgres: #"CAST(t0."isNew" AS integer) = ?"#),
    Case(format: "added > NULL", sqlite: "0", postgres: "FALSE"),
    Case(
      format: "title < 'b'", sqlite: #"t0."title" < ?"#,
      postgres: #"t0."title" COLLATE "C" < ? COLLATE "C""#),
    Case(
      format: "rating > pages", sqlite: #"t0."rating" > t0."pages""#,
      postgres: #"t0."rating" > t0."pages""#),
    // 64 bits do not fit a double.
    Case(format: "rating > sold", sqlite: #"t0."rating" > t0."sold""#, postgres: nil),
    Case(format: "sold > 2.5", sqlite: #"t0."sold" > ?"#, postgres: nil),
    // Lists
    Case(format: "pages IN {1, 2}", sqlite: #"t0."pages" IN (?, ?)"#, postgres: #"t0."pages" IN (?, ?)"#),
    Case(
      format: "NOT pages IN {1, 2, nil}", sqlite: #"(t0."pages" IN (?, ?) OR t0."pages" IS NULL) IS NOT 1"#,
      postgres: #"(t0."pages" IN (?, ?) OR t0."pages" IS NULL) IS NOT TRUE"#),
    // Texts
    Case(format: "title ==[c] 'a'", sqlite: #"cdgen_order(t0."title", ?, 1) IS 0"#, postgres: nil),
    Case(format: "title CONTAINS 'x'", sqlite: #"cdgen_search(t0."title", ?, 2, 0)"#, postgres: nil),
    Case(format: "title LIKE 'a*'", sqlite: #"cdgen_like(t0."title", ?, 0)"#, postgres: nil),
    Case(
      format: "title + '!' == 'a!'", sqlite: #"(t0."title" || ?) IS ?"#,
      postgres: #"(t0."title" || ?) = ?"#),
    // Calculations
    Case(
      format: "pages + 1 > 9", sqlite: #"(t0."pages" + ?) > ?"#,
      postgres: #"(CAST(t0."pages" AS bigint) + CAST(? AS bigint)) > ?"#),
    Case(
      format: "sold - sold > 2", sqlite: #"cdgen_subtract(t0."sold", t0."sold") > ?"#,
      postgres: #"(CAST(t0."sold" AS bigint) - CAST(t0."sold" AS bigint)) > ?"#),
    Case(
      format: "sold / 2 == 1", sqlite: #"(t0."sold" / ?) IS ?"#,
      postgres: #"(CAST(t0."sold" AS bigint) / CAST(? AS bigint)) = ?"#),
    Case(
      format: "-pages < 3", sqlite: #"(-t0."pages") < ?"#, postgres: #"(-CAST(t0."pages" AS bigint)) < ?"#),
    Case(format: "sold << 2 == 4", sqlite: #"(t0."sold" << ?) IS ?"#, postgres: nil),
    Case(format: "rating * 2.0 > 1", sqlite: #"(t0."rating" * ?) > ?"#, postgres: nil),
    Case(
      format: "CAST(pages, 'Double') > 1.5", sqlite: #"CAST(t0."pages" AS REAL) > ?"#,
      postgres: #"CAST(t0."pages" AS double precision) > ?"#),
    Case(
      format: "noindex:(pages) == 3", sqlite: #"+t0."pages" IS ?"#, postgres: #"t0."pages" = ?"#),
    // Other rows
    Case(
      format: "author.name == 'Thoreau'",
      sqlite: #"(SELECT r1."name" FROM "Author" AS r1 WHERE r1._pk = t0."author") IS ?"#,
      postgres: #"(SELECT r1."name" FROM "Author" AS r1 WHERE r1._pk = t0."author") = ?"#),
    Case(
      format: "ALL books.pages > 3", entity: "Author",
      sqlite:
        #"NOT EXISTS (SELECT 1 FROM "Item" AS r1 WHERE r1."author" = t0._pk AND (r1."pages" > ?) IS NOT 1)"#,
      postgres:
        #"NOT EXISTS (SELECT 1 FROM "Item" AS r1 WHERE r1."author" = t0._pk AND (r1."pages" > ?) IS NOT TRUE)"#
    ),
    Case(
      format: "books.@sum.pages > 3", entity: "Author",
      sqlite: #"(SELECT coalesce(sum(r1."pages"), 0) FROM "Item" AS r1 WHERE r1."author" = t0._pk) > ?"#,
      postgres:
        #"(SELECT CAST(coalesce(sum(r1."pages"), 0) AS bigint) FROM "Item" AS r1 WHERE r1."author" = t0._pk) > ?"#
    ),
    Case(
      format: "books.@min.title == 'a'", entity: "Author",
      sqlite: #"(SELECT min(r1."title") FROM "Item" AS r1 WHERE r1."author" = t0._pk) IS ?"#,
      postgres: #"(SELECT min(r1."title" COLLATE "C") FROM "Item" AS r1 WHERE r1."author" = t0._pk) = ?"#),
  ]

  @Test(arguments: cases) func conditions(_ test: Case) throws {
    let sqlite = try compile(test.format, test.entity, .sqlite)
    let postgres = try compile(test.format, test.entity, PostgresDialect())
    #expect(sqlite.sql == test.sqlite ?? "1" && sqlite.isExact == (test.sqlite != nil))
    #expect(postgres.sql == test.postgres ?? "TRUE" && postgres.isExact == (test.postgres != nil))
  }

  private func compile(
    _ format: String, _ entity: String, _ dialect: any SQLDialect, _ arguments: [(any FormatArgument)?] = []
  ) throws -> SQLPredicate {
    try SQLPredicate.compile(
      FetchPredicate(format: format, arguments: arguments), entity: try #require(plan.entity(entity)),
      plan: plan, dialect: dialect)
  }

  @Test func parameters() throws {
    let uuid = UUID()
    let number = try #require(Decimal(string: "9.99"))
    let format = "code == %@ AND price == %@ AND added == %@"
    let date = Date(timeIntervalSinceReferenceDate: 2)
    #expect(
      try compile(format, "Book", PostgresDialect(), [uuid, number, date]).bindings
        == [.uuid(uuid), .decimal(number), .double(2)])
    let bytes = withUnsafeBytes(of: uuid.uuid) { Data($0) }
    #expect(
      try compile(format, "Book", .sqlite, [uuid, number, date]).bindings
        == [.data(bytes), .string("2500999 9.99"), .double(2)])
    let many = try compile("sold IN %@", "Book", PostgresDialect(), [Array(0..<600)])
    #expect(many.sql == #"t0."sold" = ANY(CAST(? AS bigint[]))"#)
    #expect(many.bindings == [.string("{" + (0..<600).map(String.init).joined(separator: ",") + "}")])
  }

  /// What a dialect does not say exactly narrows nothing, and the rest of the predicate still does.
  @Test func theEvaluatorDecidesTheRest() throws {
    let compiled = try compile("pages > 1 AND title LIKE[c] 'a*'", "Book", PostgresDialect())
    #expect(compiled.sql == #"t0."pages" > ?"# && !compiled.isExact)
    #expect(compiled.inexactParts == ["title LIKE[c] …"])
  }

  @Test func orders() throws {
    let book = try #require(plan.entity("Book"))
    let keys = [SortKey("title"), SortKey("pages", ascending: false)]
    #expect(
      try SQLPredicate.order(by: keys, entity: book, plan: plan, dialect: .sqlite)
        == #"t0."title", t0."pages" DESC"#)
    #expect(
      try SQLPredicate.order(by: keys, entity: book, plan: plan, dialect: PostgresDialect())
        == #"t0."title" COLLATE "C" NULLS FIRST, t0."pages" DESC NULLS LAST"#)
    #expect(SQLiteDialect.sqlite.window(offset: 2, limit: nil) == " LIMIT -1 OFFSET 2")
    #expect(PostgresDialect().window(offset: 2, limit: nil) == " OFFSET 2")
    let folded = [SortKey("title", options: .caseInsensitive)]
    #expect(try SQLPredicate.order(by: folded, entity: book, plan: plan, dialect: PostgresDialect()) == nil)
  }

  @Test func statements() throws {
    let sql = ModelSQL(plan, PostgresDialect())
    let author = try #require(plan.entity("Author"))
    #expect(
      PostgresDialect.rendered(sql.rows[author.index].delete)
        == #"DELETE FROM "Author" WHERE _pk = $1 AND _version = $2"#)
    #expect(
      PostgresDialect.rendered(sql.rows[author.index].insert)
        == #"INSERT INTO "Author" (_pk, _version, "name", "age", "mentor") VALUES ($1, 1, $2, $3, $4)"#)
  }

  /// The tables are the same but for what the dialect says of types and options.
  @Test func tables() throws {
    let shop = EntityDescription(
      name: "Shop",
      attributes: [
        AttributeDescription(name: "name", type: .string),
        AttributeDescription(name: "isOpen", type: .bool, isOptional: true),
        AttributeDescription(name: "rent", type: .decimal, isOptional: true),
        AttributeDescription(name: "photo", type: .data, isOptional: true, storesExternally: true),
      ],
      uniquenessConstraints: [["name"]])
    let model = ManagedObjectModel(
      name: "Shops", id: UUID(), versions: [ModelVersion(number: 1, entities: [shop])],
      currentVersionNumber: 1)
    let plan = try ModelPlan(model)
    let sqlite = SQLSchema(plan, store: 0, .sqlite)
    #expect(
      sqlite.tables == [
        #"CREATE TABLE "Shop" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL, "name" TEXT NOT NULL, "#
          + #""isOpen" INTEGER, "rent" TEXT, "photo" ANY) STRICT"#
      ])
    let postgres = SQLSchema(plan, store: 0, PostgresDialect())
    #expect(
      postgres.tables == [
        #"CREATE TABLE "Shop" ("_pk" bigint PRIMARY KEY, "_version" bigint NOT NULL, "name" text COLLATE "C" NOT NULL, "#
          + #""isOpen" boolean, "rent" numeric, "photo" bytea)"#
      ])
    #expect(postgres.indexes.map(\.sql) == sqlite.indexes.map(\.sql))
    #expect(sqlite.indexes.map(\.name) == ["Shop.unique.name"])
  }
}

/// The form in which the server reads the texts.
@Suite(.onceForAllKinds) struct RenderedTextTests {
  @Test func parametersAreNumbered() {
    #expect(PostgresDialect.rendered("") == "")
    #expect(PostgresDialect.rendered("a = ? AND b IN (?, ?)") == "a = $1 AND b IN ($2, $3)")
    let many = Array(repeating: "?", count: 12).joined(separator: ",")
    #expect(PostgresDialect.rendered(many) == (1...12).map { "$\($0)" }.joined(separator: ","))
  }

  @Test func namesAndLiteralsStay() {
    let name = SQLText.quoted(#"a"?'b"#)
    let literal = SQLText.literal(#"it's "?""#)
    let text = "\(name) = \(literal) AND ? = \(literal)\(name)?"
    #expect(
      PostgresDialect.rendered(text)
        == #""a""?'b" = 'it''s "?"' AND $1 = 'it''s "?"'"a""?'b"$2"#)
  }

  @Test func textBeyondASCII() {
    let text = "\"it\u{301}\" = '日本' AND x = ?"
    #expect(PostgresDialect.rendered(text) == "\"it\u{301}\" = '日本' AND x = $1")
  }
}
