import CDRuntime
import Foundation

/// A lending library: entities that inherit, enumerations, composites and a query over several entities.
@main
struct LibraryExample {
  @MainActor
  static func main() throws {
    let location = StoreLocation.inMemory
    let container = try PersistentContainer(for: LibraryModel.self, at: location)
    let context = container.viewContext
    try fill(context)

    print("Publications, whatever their kind:")
    for publication in try Publication.fetch(sortedBy: \.title, in: context) {
      let authors = publication.authors.map(\.name).joined(separator: ", ")
      print("  \(publication.title) (\(type(of: publication)), \(publication.language))", authors)
    }

    print("Books by Thoreau for less than ten:")
    let books = try Book.fetch(where: \.publisher.name == "Ticknor" && \.price < 10, in: context)
    for book in books { print("  \(book.title), \(book.price), \(book.reviewCount) review") }

    print("What is overdue:")
    for loan in try Loan.overdue(date: .now, in: context) {
      let reader = loan.reader
      print("  \(loan.copy.publication.title), lent to \(reader.name) in \(reader.address?.city ?? "?")")
    }

    // A book's copies go only when there are none left: the model says `onDelete: deny`.
    if let walden = try Book.object(isbn: "978-0-691-09612-4", in: context) {
      context.delete(walden)
      do {
        try context.save()
      } catch {
        print("Walden stays: \(error)")
        context.rollback()
      }
    }
  }

  private static func fill(_ context: ManagedObjectContext) throws {
    let thoreau = Author(name: "Henry David Thoreau", in: context)
    let walden = Book(title: "Walden", isbn: "978-0-691-09612-4", in: context)
    walden.addToAuthors(thoreau)
    walden.publisher = Publisher(name: "Ticknor", in: context)
    let review = Review(publication: walden, in: context)
    review.text = "Simplify, simplify."
    review.rating = .great

    let magazine = Magazine(title: "Atlantic Monthly", issue: 1, in: context)
    magazine.addToAuthors(thoreau)

    let reader = LibraryReader(name: "Grace", cardNumber: 1906, in: context)
    reader.address = Address(street: "1 Pond Road", city: "Concord", zip: "01742", country: "US")
    let copy = Copy(barcode: "W-1", publication: walden, in: context)
    copy.condition = .worn
    _ = Loan(due: .now - 86_400, copy: copy, reader: reader, in: context)
    try context.save()
  }
}
