import Foundation
import Testing

@testable import CDRuntime

@Suite struct OrderTests {
  @Test func anObjectThatComesBackAfterASaveIsLast() throws {
    let store = try TemporaryStore()
    let first = try store.freshContext()
    let author = Author(name: "A", in: first)
    Tag(name: "t", in: first).books = (1...3).map {
      Book(title: "T", isbn: "\($0)", author: author, in: first)
    }
    try first.save()
    let context = try store.freshContext()
    let tag = try #require(try Tag.objects(in: context).first)
    let book = try #require(tag.books.first)
    book.removeFromTags(tag)
    // The others are let go of, so that the relationship is read again before the save.
    context.registry.sweep()
    #expect(tag.books.map(\.isbn) == ["2", "3"])
    try context.save()
    book.addToTags(tag)
    try context.save()
    #expect(try Tag.objects(in: store.freshContext()).first?.books.map(\.isbn) == ["2", "3", "1"])
  }
}
