import Foundation
import Observation
import Testing

@testable import CDRuntime

/// What a context does to observable objects by itself is told as their setters' changes are.
@Suite struct ObservedContextTests {
  // MARK: Deletion

  @Test(arguments: StorePlace.allCases)
  func deleteRulesTellWhomTheyChange(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    let (piece, maker) = (room.piece, room.maker)
    let lyrics = Lyrics(text: "la", piece: piece, in: room.context)
    room.other.similar = piece
    try room.context.save()
    let follows = [
      "works": FollowedReads { maker.works }, "pieces": FollowedReads { room.listener.pieces },
      "piece": FollowedReads { lyrics.piece },
      // By one side alone, and by the rule of the other side, which leaves it as it is.
      "similar": FollowedReads { room.other.similar },
    ]
    let rest = FollowedReads { (maker.name, room.other.heading, room.other.maker, room.listener.name) }
    room.context.delete(piece)
    for (name, follow) in follows { #expect(follow.isTold, "\(name)") }
    #expect(!rest.isTold && maker.works.isEmpty && lyrics.isDeleted && room.other.similar == nil)
    #expect(tells(room.other.shelf) { room.context.delete(room.shelf) })
    #expect(room.other.shelf == nil)
    #expect(tells(room.other.shelf) { room.context.rollback() })
    #expect(room.other.shelf === room.shelf)
  }

  @Test func deletingOneSideClearsAReference() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    #expect(tells(room.piece.maker) { room.context.delete(room.maker) })
    #expect(room.piece.maker == nil)
  }

  // MARK: Going back

  @Test(arguments: StorePlace.allCases)
  func aRollbackTellsWhatItTakesBack(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    let (piece, maker) = (room.piece, room.maker)
    piece.heading = "Suite"
    piece.maker = nil
    room.other.addToListeners(room.listener)
    let new = Piece(heading: "Air", in: room.context)
    new.shelf = room.shelf
    let follows = [
      FollowedReads { piece.heading }, FollowedReads { piece.maker }, FollowedReads { maker.works },
      FollowedReads { room.listener.pieces }, FollowedReads { room.shelf.contents },
    ]
    let rest = FollowedReads { (piece.tempo, maker.name, piece.listeners) }
    room.context.rollback()
    #expect(follows.map(\.isTold) == [true, true, true, true, true])
    #expect(!rest.isTold && piece.heading == "Prelude" && maker.works == [piece])
  }

  @Test func aRefreshTellsOfTheObject() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let (piece, maker) = (room.piece, room.maker)
    piece.heading = "Suite"
    piece.maker = nil
    let follows = [FollowedReads { piece.heading }, FollowedReads { maker.works }]
    let rest = FollowedReads { (room.other.heading, maker.name) }
    room.context.refresh(piece, mergeChanges: false)
    #expect(follows.allSatisfy(\.isTold) && !rest.isTold)
    #expect(piece.heading == "Prelude" && maker.works == [piece])
    piece.code = "1"
    #expect(tells(piece.heading) { room.context.refresh(piece, mergeChanges: true) })
    room.context.rollback()
    #expect(tells(piece.heading) { room.context.refreshAllObjects() })
  }

  @Test func aResetTellsWhoHoldsObjects() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    #expect(tells(room.maker.works) { room.context.reset() })
    #expect(room.maker.works.isEmpty)
  }

  @Test(arguments: StorePlace.allCases)
  func undoAndRedoTellWhatTheyPutBack(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    let (piece, maker, context) = (room.piece, room.maker, room.context)
    let undoManager = ContextUndoManager()
    context.undoManager = undoManager
    piece.heading = "Suite"
    piece.maker = nil
    room.other.addToListeners(room.listener)
    undoManager.endEvent()
    for step in [{ context.undo() }, { context.redo() }] {
      let follows = [
        FollowedReads { piece.heading }, FollowedReads { piece.maker }, FollowedReads { maker.works },
        FollowedReads { room.listener.pieces },
      ]
      let rest = FollowedReads { (piece.tempo, maker.name, room.other.heading) }
      step()
      #expect(follows.map(\.isTold) == [true, true, true, true] && !rest.isTold)
    }
    context.undo()
    context.delete(piece)
    undoManager.endEvent()
    #expect(tells(maker.works) { context.undo() })
    #expect(maker.works == [piece] && piece.heading == "Prelude")
  }

  // MARK: Children

  @Test func aChildTellsItsParentsObserversWhenItIsSaved() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let child = ManagedObjectContext(parent: room.context)
    let draft = try child.localInstance(of: room.piece)
    let reads = FollowedReads { (room.piece.heading, room.maker.works) }
    let rest = FollowedReads { (room.other.heading, room.maker.name) }
    #expect(tells(draft.heading) { draft.heading = "Suite" })
    draft.maker = nil
    #expect(!reads.isTold)
    try child.save()
    #expect(reads.isTold && !rest.isTold && room.piece.heading == "Suite" && room.maker.works.isEmpty)
  }

  /// The observer runs when the parent has the child's changes.
  @Test func whatAParentsObserverChangesInTheChildStaysThere() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let child = ManagedObjectContext(parent: room.context)
    // Observers are told by the thread that changes the object, which is the test's.
    nonisolated(unsafe) let draft = try child.localInstance(of: room.piece)
    draft.heading = "Suite"
    withObservationTracking {
      _ = room.piece.heading
    } onChange: {
      draft.heading = "Mass"
    }
    try child.save()
    #expect(room.piece.heading == "Suite" && draft.heading == "Mass" && child.updatedObjects == [draft])
    try child.save()
    #expect(room.piece.heading == "Mass" && !child.hasChanges)
  }

  /// The observer extends a list to which the child has given another order.
  @Test func aParentsObserverFindsTheChildsOrder() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let air = Piece(heading: "Air", in: room.context)
    try room.context.save()
    let child = ManagedObjectContext(parent: room.context)
    // Observers are told by the thread that changes the object, which is the test's.
    nonisolated(unsafe) let draft = try child.localInstance(of: room.shelf)
    nonisolated(unsafe) let new = try child.localInstance(of: air)
    let works = draft.contents
    draft.contents = [works[1], works[0]]
    draft.label = "B"
    withObservationTracking {
      _ = room.shelf.label
    } onChange: {
      draft.contents.append(new)
    }
    try child.save()
    #expect(room.shelf.contents == [room.other, room.piece])
    #expect(draft.contents == [works[1], works[0], new])
    try child.save()
    #expect(room.shelf.contents == [room.other, room.piece, air] && !child.hasChanges)
  }

  /// An observer fetches during the child's save, and the parent learns of another context's save.
  @Test(.timeLimit(.minutes(10)), arguments: StorePlace.allCases)
  func aChildsSaveIsReportedBeforeWhatAnObserverLearns(place: StorePlace) async throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    // Observers are told by the thread that changes the object, which is the test's.
    nonisolated(unsafe) let context = room.context
    let child = ManagedObjectContext(parent: context)
    let contexts = [context, child, ManagedObjectContext(parent: context)]
    let id = room.piece.objectID
    try child.localInstance(of: room.piece).heading = "Suite"
    _ = try Shelf.objects(in: context)
    let streams = contexts.map(\.changes)
    try room.elsewhere { $0.delete(try $0.existingObject(with: id)) }
    withObservationTracking {
      _ = room.piece.heading
    } onChange: {
      _ = try? Shelf.objects(in: context)
    }
    try child.save()
    for (reporter, stream) in zip(contexts, streams) {
      var told: [ObjectChanges] = []
      for await change in stream {
        told.append(change)
        if told.count == 2 { break }
      }
      #expect(told.map { $0.deleted.contains(id) } == [false, true])
      #expect(told.first?.updated.contains(id) == (reporter === child))
    }
  }

  @Test(arguments: StorePlace.allCases)
  func aChildIsToldOfWhatItsParentLearns(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    let child = ManagedObjectContext(parent: room.context)
    let copy = try child.localInstance(of: room.piece)
    #expect(
      try tells(copy.heading) {
        try room.changeElsewhere { $0.heading = "Suite" }
        _ = try Shelf.objects(in: child)
      })
    #expect(copy.heading == "Suite")
    room.piece.heading = "Mass"
    #expect(try tells(copy.heading) { _ = try Piece.objects(in: child) })
    #expect(copy.heading == "Mass")
    // What is unsaved in the parent is read by each fetch, and told once.
    #expect(try !tells(copy.heading) { _ = try Piece.objects(in: child) })
    #expect(tells(copy.heading) { room.context.rollback() })
    #expect(copy.heading == "Suite")
  }

  @Test(arguments: [true, false])
  func aChildIsToldOfItsParentsRelationshipsAndTransients(isChanged: Bool) throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let child = ManagedObjectContext(parent: room.context)
    let copy = try child.localInstance(of: room.piece)
    let maker = try child.localInstance(of: room.maker)
    #expect(copy.heading == "Prelude" && maker.name == "Bach")
    // An object with changes follows in the relationships that it has not changed.
    if isChanged { (copy.heading, maker.name) = ("mine", "mine") }
    #expect(
      try tells(maker.works) {
        room.other.maker = room.maker
        _ = try Maker.objects(in: child)
      })
    #expect(maker.works.count == 2)
    #expect(
      try tells(copy.lyrics) {
        _ = Lyrics(text: "la", piece: room.piece, in: room.context)
        _ = try Piece.objects(in: child)
      })
    #expect(copy.lyrics?.text == "la")
    // Fetches without a change notify nobody. A later change is still noticed.
    let (works, lyrics) = (FollowedReads { maker.works }, FollowedReads { copy.lyrics })
    for _ in 0..<2 { _ = try (Maker.objects(in: child), Piece.objects(in: child)) }
    #expect(!works.isTold && !lyrics.isTold)
    room.other.maker = nil
    _ = try Maker.objects(in: child)
    #expect(works.isTold && !lyrics.isTold && maker.works == [copy])
    guard !isChanged else { return }
    #expect(
      try tells(copy.marked) {
        room.piece.marked = true
        _ = try Piece.objects(in: child)
      })
    #expect(copy.marked)
    #expect(try !tells(copy.marked) { _ = try Piece.objects(in: child) })
  }

  // MARK: Reading

  @Test(arguments: StorePlace.allCases)
  func readingARowForTheFirstTimeTellsNothing(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    let context = room.store.container.newContext()
    let listener = try #require(try context.object(with: room.listener.objectID) as? Listener)
    // It is set when the values are read, which is part of it.
    let loud = FollowedReads { listener.loud }
    #expect(listener.loud && !loud.isTold)
    let maker = try #require(try context.object(with: room.maker.objectID) as? Maker)
    let reads = FollowedReads { maker.works.map(\.heading) + [maker.name] }
    _ = try Work.fetch(sortedBy: \.heading, in: context)
    try context.save()
    #expect(!reads.isTold && maker.works.count == 1)
  }

  // MARK: Saving

  @Test func derivedAttributesTellWhenTheyAreComputed() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let (piece, maker) = (room.piece, room.maker)
    #expect(maker.workCount == 1 && piece.makerName == "Bach")
    room.other.maker = maker
    #expect(try tells(maker.workCount) { try room.context.save() })
    #expect(maker.workCount == 2)
    maker.name = "Bach, J. S."
    // A fetch that reads it computes it too.
    #expect(
      try tells(piece.makerName) {
        _ = try Piece.fetch(where: \.makerName == "Bach, J. S.", in: room.context)
      })
    #expect(piece.makerName == "Bach, J. S.")
    piece.heading = "Suite"
    #expect(try !tells((piece.makerName, maker.workCount)) { try room.context.save() })
  }

  @Test(arguments: StorePlace.allCases)
  func aResolvedConflictTellsWhatItTakesFromTheStore(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    let piece = room.piece
    room.context.mergePolicy = .mergeByPropertyStoreTrump
    try room.changeElsewhere {
      $0.heading = "Suite"
      $0.maker = nil
    }
    piece.heading = "Mass"
    piece.code = "232"
    let follows = [FollowedReads { piece.heading }, FollowedReads { room.maker.works }]
    let rest = FollowedReads { room.other.heading }
    try room.context.save()
    #expect(piece.heading == "Suite" && piece.code == "232" && piece.maker == nil)
    #expect(room.maker.works.isEmpty)
    #expect(follows.map(\.isTold) == [true, true] && !rest.isTold)
  }

  @Test func whatAnObserverChangesDuringASaveIsNotLost() throws {
    let room = try MusicRoom(.file)
    defer { room.store.remove() }
    // Observers are told by the thread that changes the object, which is the test's.
    nonisolated(unsafe) let (piece, other) = (room.piece, room.other)
    room.context.mergePolicy = .mergeByPropertyObjectTrump
    try room.changeElsewhere { $0.tempo = .lively }
    withObservationTracking {
      _ = piece.tempo
    } onChange: {
      other.code = "told"
    }
    piece.heading = "Mass"
    try room.context.save()
    #expect(other.code == "told" && piece.tempo == .lively)
    try room.context.save()
    let stored = try room.store.container.newContext().existingObject(with: other.objectID) as? Piece
    #expect(stored?.code == "told")
  }
}
