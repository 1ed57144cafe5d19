import CDRuntime
import Foundation
import SeededRandom
import Testing

/// Many tasks that change the same rows: what each policy allows to be lost, and no more.
@Suite struct ConcurrentMergeTests {
  private static let taskCount = isThorough ? 100 : 40
  private let store: TemporaryStore
  private let container: PersistentContainer
  private let id: ManagedObjectID

  init() async throws {
    store = try TemporaryStore()
    container = try store.container()
    id = try await container.performBackgroundTask { context in
      let author = Author(name: "A", in: context)
      let book = Book(title: "T", isbn: "1", author: author, in: context)
      book.salesRank = 0
      try context.save()
      return book.objectID
    }
  }

  /// What the tasks said of their saves: those that were written, and those whose title was the store's after it.
  private struct Outcome: Sendable {
    var saved = 0
    var refused = 0
  }

  /// Each task counts up, says who it is and adds a tag of its own.
  private func run(_ policy: MergePolicy) async throws -> Outcome {
    let (container, id) = (container, id)
    return try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<Self.taskCount {
        group.addTask {
          try await container.performBackgroundTask { context in
            context.mergePolicy = policy
            guard let book = try context.existingObject(with: id) as? Book else { return false }
            book.salesRank = (book.salesRank ?? 0) + 1
            book.title = "\(number)"
            book.addToTags(Tag(name: "t\(number)", in: context))
            _ = Tag(name: "shared", in: context)
            do {
              try context.save()
              return true
            } catch is SaveError {
              return false
            }
          }
        }
      }
      var outcome = Outcome()
      for try await isSaved in group {
        if isSaved { outcome.saved += 1 } else { outcome.refused += 1 }
      }
      return outcome
    }
  }

  private func read() async throws -> (rank: Int64, title: String, tags: Int, shared: Int) {
    let id = id
    return try await container.performBackgroundTask { context in
      guard let book = try context.existingObject(with: id) as? Book else { return (-1, "", 0, 0) }
      let shared = try Tag.objects(matching: \.name, "shared", in: context).count
      return (book.salesRank ?? 0, book.title, book.tags.count, shared)
    }
  }

  @Test func nothingIsLostWhereConflictsAreErrors() async throws {
    let outcome = try await run(.error)
    let found = try await read()
    // Each save that succeeded counted from what the one before it had left.
    #expect(found.rank == Int64(outcome.saved) && found.tags == outcome.saved)
    #expect(outcome.saved >= 1 && outcome.saved + outcome.refused == Self.taskCount)
    #expect(found.shared == 1)
  }

  @Test func aPolicyOfOnesOwnLosesNoCount() async throws {
    let outcome = try await run(
      MergePolicy { conflict in
        guard conflict.reason == .changed, let rank = conflict.value(forKey: "salesRank"),
          case .int(let mine)? = rank.object.attribute, case .int(let old)? = rank.snapshot.attribute,
          case .int(let theirs)? = rank.store?.attribute
        else { return .objectWins }
        return .values(["salesRank": .attribute(.int(theirs + mine - old))])
      })
    let found = try await read()
    #expect(outcome.saved == Self.taskCount)
    #expect(found.rank == Int64(Self.taskCount) && found.tags == Self.taskCount && found.shared == 1)
  }

  @Test(arguments: [true, false]) func whereTheObjectWinsTheLastOneDoes(isWhole: Bool) async throws {
    let outcome = try await run(isWhole ? .overwrite : .mergeByPropertyObjectTrump)
    let found = try await read()
    #expect(outcome.saved == Self.taskCount)
    // A count may be lost; that is what the policy allows. Tags are not, nor does anybody undo a title.
    #expect(found.rank >= 1 && found.rank <= Int64(Self.taskCount))
    #expect((Int(found.title) ?? -1) >= 0 && found.tags == Self.taskCount && found.shared == 1)
  }

  @Test(arguments: [true, false]) func whereTheStoreWinsTheFirstOneDoes(isWhole: Bool) async throws {
    let outcome = try await run(isWhole ? .rollback : .mergeByPropertyStoreTrump)
    let found = try await read()
    #expect(outcome.saved == Self.taskCount && found.shared == 1)
    // Pairs that are no property of the row are kept, unless the whole of an object's changes is dropped.
    #expect(found.rank >= 1 && (isWhole ? found.tags >= 1 : found.tags == Self.taskCount))
  }
}
