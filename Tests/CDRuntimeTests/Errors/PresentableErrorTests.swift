import CDRuntime
import Foundation
import Testing

/// Errors in words for the people who use an app. Serialized, because a translation is for the whole program.
@Suite(.serialized) struct PresentableErrorTests {
  private let url = URL(filePath: "store.sqlite")

  private func texts(_ error: any Error) -> [String] {
    let error = error as? any LocalizedError
    return [error?.errorDescription, error?.failureReason, error?.recoverySuggestion].map { $0 ?? "" }
  }

  @Test(arguments: ErrorSituation.allCases)
  func everySituationHasThreeSentences(_ situation: ErrorSituation) throws {
    for part in ["description", "reason", "suggestion"] {
      let text = try #require(ErrorTexts.english["\(situation.rawValue).\(part)"])
      #expect(text.hasSuffix(".") && text.first?.isUppercase == true, "\(text)")
      // No word that only developers know.
      for word in ["nil", "SQL", "context", "entity", "attribute", "coordinator", "migrat", "row"] {
        #expect(!text.lowercased().contains(word.lowercased()), "\(text)")
      }
    }
  }

  /// A model may have names such as `minutes` and `Settings`.
  @Test func pluralNamesReadRight() throws {
    let uri = try #require(URL(string: "cdgen://\(UUID().uuidString)/Settings/p1"))
    let id = try #require(ManagedObjectID(uri: uri))
    func error(_ reason: ValidationError.Reason, _ property: String) -> ValidationError {
      ValidationError(reason: reason, entity: "Settings", property: property, objectID: id)
    }
    #expect(
      texts(error(.outOfRange, "breakMinutes")) == [
        "The settings cannot be saved because of the break minutes.",
        "The value is not one that is allowed here.", "Correct the break minutes, then save again.",
      ])
    #expect(
      texts(error(.missingValue, "breakMinutes")) == [
        "The settings cannot be saved without the break minutes.", "A value is needed there.",
        "Enter the break minutes, then save again.",
      ])
    #expect(
      texts(error(.deleteDenied, "breaks")) == [
        "The settings cannot be deleted.", "Other data still depends on this.",
        "Delete or change the other data first.",
      ])
    #expect(
      texts(BatchError.notUnique(entity: "Settings", properties: ["name"], row: 1)).first
        == "The settings cannot be saved with these values.")
  }

  /// A word that depends on the number of a name stands neither before it nor after it.
  @Test func noTextDependsOnTheNumberOfAName() throws {
    let dependent = /\b(this|that|a|an|each|every|these|those|many) \{\d\}|\{\d\} (?!can|must|may)\w+/
    for (key, text) in ErrorTexts.english where text.contains("{") {
      #expect(text.lowercased().firstMatch(of: dependent) == nil, "\(key): \(text)")
    }
  }

  @Test func errorsSpeakToPeople() throws {
    #expect(
      (StoreError.diskFull([url]) as any Error).localizedDescription
        == "There is not enough space to save the data.")
    #expect(
      texts(StoreError.newerFormat(url, found: 3, supported: 1)).last == "Update the app, then try again.")
    #expect(texts(HistoryError.expiredToken(storeID: UUID())).first == "The latest changes cannot be listed.")
    let format = #expect(throws: FormatError.self) { try FetchPredicate(format: "title ==") }
    #expect(format.map { texts($0).first } == "The text or file cannot be read.")
  }

  @Test func aMistakeNamesThePropertyInWords() throws {
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    let context = container.newContext()
    let book = Book(title: "Walden", isbn: "1", author: Author(name: "Henry", in: context), in: context)
    book.price = -1
    let error = try #require(#expect(throws: SaveError.self) { try context.save() })
    #expect(
      texts(error) == [
        "The book cannot be saved because of the price.", "The value is not one that is allowed here.",
        "Correct the price, then save again.",
      ])
    book.price = 1
    Book(title: "Walden", isbn: "1", author: book.author, in: context).price = 2
    let twice = try #require(#expect(throws: SaveError.self) { try context.save() })
    #expect(
      texts(twice) == [
        "The book cannot be saved with these values.", "Other data has the same values already.",
        "Change the values, or use the data that has them.",
      ])
  }

  @Test(arguments: [1, 3]) func aRefusedDeletionNamesTheNumberOfObjects(count: Int) throws {
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    let context = container.newContext()
    let author = Author(name: "Henry", in: context)
    let books = (0..<3).map { Book(title: "\($0)", isbn: "\($0)", author: author, in: context) }
    try context.save()
    for book in books.dropFirst(count) { context.delete(book) }
    context.delete(author)
    let error = try #require(#expect(throws: SaveError.self) { try context.save() })
    guard case .validation(let errors) = error else { throw error }
    #expect(errors.map(\.reason) == [.deleteDenied] && errors.map(\.denyingCount) == [count])
    #expect(
      "\(error)".contains("still has \(count) object")
        && texts(error).first == "The author cannot be deleted.")
    // The number is not part of the error's identity.
    #expect(
      errors == [
        ValidationError(
          reason: .deleteDenied, entity: "Author", property: "publications", objectID: author.objectID)
      ])
  }

  @Test func translationsReplaceTextsAndNames() throws {
    let uri = try #require(URL(string: "cdgen://\(UUID().uuidString)/ToDo/p1"))
    let error = ValidationError(
      reason: .missingValue, entity: "ToDo", property: "dueDate",
      objectID: try #require(ManagedObjectID(uri: uri)))
    #expect(texts(error).first == "The to do cannot be saved without the due date.")
    ErrorTexts.lookUp = { key in
      [
        "save.missingValue.description": "{0} fehlt ({1}) {2} {x", "property.ToDo.dueDate": "Die Frist",
        "entity.ToDo": "Aufgabe",
      ][key]
    }
    defer { ErrorTexts.lookUp = nil }
    #expect(texts(error).first == "Die Frist fehlt (Aufgabe) {2} {x")
    #expect(texts(error).last == "Enter the Die Frist, then save again.")
  }
}
