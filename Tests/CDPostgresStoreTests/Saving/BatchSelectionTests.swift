import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// The rows that a batch selects.
@Suite(.needsServer) struct BatchSelectionTests {
  /// No text on the server has the character U+0000, and the server refuses a constant that has it.
  @Test func aConstantThatNoTextCanHave() throws {
    let store = try ServerStore()
    let context = try store.context()
    try context.addBook("a", pages: 1)
    try context.addBook("b", pages: 1)
    try context.save()
    func books(_ format: String) throws -> FetchRequest<ManagedObject> {
      FetchRequest<ManagedObject>(entityName: "Book", where: try FetchPredicate(format: format, "a\0b"))
    }
    #expect(try context.execute(BatchDeleteRequest(books("title == %@"))).count == 0)
    let update = try context.execute(
      BatchUpdateRequest(books("title != %@"), set: [.set("pages", to: .attribute(.int(2)))]))
    #expect(update.count == 2)
    #expect(try store.sql("SELECT 1 FROM \(store.table("Book")) WHERE pages = 2").rowCount == 2)
  }
}
