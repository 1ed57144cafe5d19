import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Batch updates whose values the program computes.
@Suite(.needsServer) struct BatchUpdateTests {
  /// All values together could be more than a message to the server may have.
  @Test func computedValuesAreSentInParts() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy)
    let text = String(repeating: "x", count: 200_000)
    for number in 0..<50 { try context.addBook(text + "\(number)", pages: Int64(number)) }
    try context.save()
    _ = proxy.takeRoundTrips()
    let result = try context.execute(
      BatchUpdateRequest(
        FetchRequest<ManagedObject>(entityName: "Book"),
        set: [.set("title", to: ValueExpression(format: "uppercase:(title)"))]))
    let updates = proxy.takeRoundTrips().joined().count { $0.hasPrefix("UPDATE") && $0.contains("title") }
    #expect(result.count == 50 && updates == 3)
    let titles = try store.context().titles()
    #expect(Set(titles) == Set((0..<50).map { text.uppercased() + "\($0)" }))
    #expect(try store.sql("SELECT 1 FROM \(store.table("Book")) WHERE _version = 2").rowCount == 50)
  }
}

/// The parts in which the rows of a batch update are sent.
@Suite struct BatchUpdatePartTests {
  private func parts(_ sizes: [Int]) -> [Range<Int>] {
    PostgresBatchSession.parts(sizes.map { [.int(1), .data(Data(count: $0))] })
  }

  @Test func aPartHasNoMoreThanItsLimits() {
    let (rows, bytes) = (InsertedColumns.mostRows, InsertedColumns.mostBytes)
    #expect(parts([]) == [])
    #expect(parts([0]) == [0..<1])
    #expect(parts([Int](repeating: 0, count: rows)) == [0..<rows])
    #expect(parts([Int](repeating: 0, count: rows + 1)) == [0..<rows, rows..<rows + 1])
    #expect(parts([bytes - 1, 1, 1]) == [0..<2, 2..<3])
    #expect(parts([bytes, bytes, 0]) == [0..<1, 1..<2, 2..<3])
  }
}
