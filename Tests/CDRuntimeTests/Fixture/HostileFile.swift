import Foundation
import Testing

@testable import CDRuntime

/// A folder with a store's file that is changed and opened.
final class HostileFile {
  let folder: URL
  let url: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "library.store")
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// The bytes of a store with an author, a book of each kind of value, a magazine, tags, a shelf and reviews.
  func make(_ kind: StoreKind, authors: Int = 1) throws -> Data {
    try? FileManager.default.removeItem(at: url)
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: kind.location(url))
    let context = ManagedObjectContext(coordinator)
    for number in 0..<authors {
      let author = Author(name: "Thoreau \(number)", in: context)
      let book = Book(title: "Walden", isbn: "0-\(number)", author: author, in: context)
      book.salesRank = Int64(number)
      book.added = Date(timeIntervalSinceReferenceDate: 700_000_000)
      let magazine = Magazine(title: "The Dial", issue: 3, author: author, in: context)
      magazine.author = author
      for name in ["a", "b"] { book.tags.append(Tag(name: "\(name)\(number)", in: context)) }
      let review = Review(stars: 5, in: context)
      review.book = book
      review.text = "é ü <good> & more"
      let shelf = Shelf(in: context)
      shelf.favourite = book
      shelf.books = [book]
    }
    try context.save()
    return try Data(contentsOf: url)
  }

  /// What became of the opening of some bytes.
  enum Outcome {
    case opened
    /// With an error of the runtime's own; the file is as it was, and nothing is beside it.
    case refused(any Error)

    var error: StoreFormatError? {
      guard case .refused(StoreError.unreadable(_, let error)) = self else { return nil }
      return error
    }

    var isOpened: Bool { if case .opened = self { true } else { false } }
  }

  func outcome(_ bytes: Data, _ kind: StoreKind) throws -> Outcome {
    try bytes.write(to: url)
    do {
      try use(kind)
      return .opened
    } catch let error where error is StoreError || error is MigrationError || error is ModelError {
      guard try Data(contentsOf: url) == bytes else {
        throw Difference(description: "refused, and changed: \(error)")
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      guard names == [url.lastPathComponent] else {
        throw Difference(description: "refused, and left \(names)")
      }
      return .refused(error)
    }
  }

  /// Opens the file, reads every value, and saves something new.
  func use(_ kind: StoreKind) throws {
    let coordinator = try PlannedModel.library.coordinator(at: kind.location(url))
    let context = ManagedObjectContext(coordinator)
    for entity in LibraryDescription.version.entities where entity.parent == nil {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name)) {
        for slot in object.scope.plan.slots {
          switch object.value(of: slot) {
          case .attribute: break
          case .object(let other): _ = other?.key
          case .objects(let others): _ = others.map(\.key)
          }
        }
        if let book = object as? Book {
          _ = (book.sequel?.title, book.author.name, book.reviews.map(\.stars), book.priority, book.settings)
        }
      }
    }
    _ = try coordinator.verify()
    _ = Author(name: "new", in: context)
    do { try context.save() } catch is SaveError {}
  }
}
