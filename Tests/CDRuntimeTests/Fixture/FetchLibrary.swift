import CDRuntime

/// A library to fetch from: in memory, or in whatever kind of store is asked for; or in a file.
struct FetchLibrary {
  enum Kind: CaseIterable, Sendable { case inMemory, file }

  let container: PersistentContainer
  private let file: TemporaryStore?

  init(_ kind: Kind) throws {
    switch kind {
    case .inMemory:
      file = nil
      container = try PersistentContainer(scratchFor: LibraryModel.self)
    case .file:
      let file = try TemporaryStore()
      self.file = file
      container = try file.container()
    }
    let context = container.newContext()
    try withExtendedLifetime(context) {
      try Self.fill(context)
      try context.save()
    }
  }

  /// Books 0 to 11 and magazines; titles that only options make equal; reviews, tags and friends.
  private static func fill(_ context: ManagedObjectContext) throws {
    let authors = ["Melville", "ångström", "Thoreau", "Angstrom"].map { Author(name: $0, in: context) }
    authors[0].addToFriends(authors[1])
    authors[1].addToFriends(authors[2])
    authors[2].spouse = authors[3]
    let tags = ["new", "old", "rare"].map { Tag(name: $0, in: context) }
    let titles = ["b", "A", "a", "Ä", "c", "B"]
    var previous: Book?
    for number in 0..<12 {
      let book = Book(
        title: titles[number % titles.count], isbn: "\(number)", author: authors[number % 4], in: context)
      if number % 3 != 0 { book.salesRank = Int64(number % 4) }
      for stars in 0..<(number % 4) {
        let review = Review(stars: Int16(stars + 1), in: context)
        book.addToReviews(review)
      }
      for (place, tag) in tags.enumerated() where number.isMultiple(of: place + 2) { book.addToTags(tag) }
      if number % 2 == 1 { book.prequel = previous }
      previous = book
    }
    for number in 0..<3 {
      _ = Magazine(title: "m\(number)", issue: Int32(number), author: authors[number], in: context)
    }
  }
}
