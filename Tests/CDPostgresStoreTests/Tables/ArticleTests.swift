import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// What the article "Stores on a server" shows.
@Suite struct ArticleTests {
  private static func article() throws -> String {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    return try String(
      contentsOf: root.appending(path: "Sources/CDPostgresStore/CDPostgresStore.docc/StoresOnAServer.md"),
      encoding: .utf8)
  }

  /// The article has the statements on several lines.
  private static func words(_ text: some StringProtocol) -> [String] {
    text.map { "()".contains($0) ? " \($0) " : String($0) }.joined().split(whereSeparator: \.isWhitespace)
      .map(String.init)
  }

  /// The tables of the article are those that a store has.
  @Test func theTablesAreThoseOfAStore() throws {
    let article = try Self.article()
    let section = try #require(article.firstRange(of: "### The statements that create the tables"))
    let rest = article[section.upperBound...]
    let start = try #require(rest.firstRange(of: "```sql\n"))
    let end = try #require(rest[start.upperBound...].firstRange(of: "```"))
    let shown = rest[start.upperBound..<end.lowerBound].split(separator: ";").map(Self.words)
      .filter { !$0.isEmpty }
    let plan = try ModelPlan(ServerStore.model, configurations: [nil])
    let statements = PostgresTables.creation(of: plan, store: 0)
    #expect(shown == statements.map(Self.words), "\(statements.joined(separator: ";\n"))")
  }
}
