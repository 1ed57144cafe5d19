import Testing

@testable public import CDRuntime

/// A saved store of observable objects.
struct MusicRoom {
  let store: TestStore
  let context: ManagedObjectContext
  let piece: Piece
  let other: Piece
  let maker: Maker
  let shelf: Shelf
  let listener: Listener

  init(_ place: StorePlace = .memory) throws {
    store = try TestStore(place, ObservableModel.self)
    context = store.container.newContext()
    piece = Piece(heading: "Prelude", in: context)
    other = Piece(heading: "Fugue", in: context)
    maker = Maker(name: "Bach", in: context)
    shelf = Shelf(label: "A", in: context)
    listener = Listener(name: "Ada", in: context)
    piece.maker = maker
    shelf.addToContents([piece, other])
    piece.addToListeners(listener)
    try context.save()
  }

  /// Changes the store by another context.
  func elsewhere(_ change: (ManagedObjectContext) throws -> Void) throws {
    let context = store.container.newContext()
    try change(context)
    try context.save()
  }

  /// Changes the piece by another context.
  func changeElsewhere(_ change: (Piece) throws -> Void) throws {
    try elsewhere { context in
      try change(try #require(try context.existingObject(with: piece.objectID) as? Piece))
    }
  }
}

extension Listener: ManagedObjectLifecycle {
  public func awakeFromFetch() { loud = true }
}
