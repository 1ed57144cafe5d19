import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Contexts that change the same objects at random under every merge policy: what one has after its save is what the
/// store has, and the two sides of all relationships agree.
///
/// `CDGEN_RANDOM_ROUNDS=N` makes N runs more, and `CDGEN_RANDOM_SEED=S` begins them at a seed.
@Suite struct RandomMergeTests {
  @Test(arguments: 1...(isThorough ? 40 : 16) as ClosedRange<UInt64>, [false, true])
  func theStoreHasWhatMemoryHas(seed: UInt64, withChild: Bool) throws {
    try RandomMerge(seed: seed, withChild: withChild).run(rounds: 15)
  }

  @Test func furtherSeedsAgreeToo() throws {
    for seed in furtherSeeds {
      try RandomMerge(seed: seed, withChild: seed % 2 == 0).run(rounds: 15)
    }
  }
}

private final class RandomMerge {
  private let seed: UInt64
  private let version: ModelVersion
  private let container: PersistentContainer
  private let withChild: Bool
  private var random: SplitMix
  private var log: [String] = []

  private static let policies: [(name: String, policy: MergePolicy)] = [
    ("store", .mergeByPropertyStoreTrump), ("object", .mergeByPropertyObjectTrump),
    ("overwrite", .overwrite), ("rollback", .rollback),
  ]

  init(seed: UInt64, withChild: Bool) throws {
    self.seed = seed
    self.withChild = withChild
    version = RandomShapes.version(seed: seed)
    random = SplitMix(seed: seed)
    container = try PersistentContainer(
      scratchModel: ManagedObjectModel(
        name: "Random", id: UUID(), versions: [version], currentVersionNumber: version.number))
  }

  func run(rounds: Int) throws {
    // With a child, the two change one context and are saved to the store by it.
    let first = container.newContext()
    let second = withChild ? ManagedObjectContext(parent: first) : container.newContext()
    for round in 0..<rounds {
      log = ["-- round \(round)"]
      for (name, context) in [("first", first), ("second", second)] {
        let changes = try RandomChanges(in: context, random: SplitMix(seed: random.next()), of: version)
        for _ in 0..<Int.random(in: 0...8, using: &random) { log.append("\(name): \(try changes.change())") }
      }
      try save(withChild ? second : first, withChild ? "second" : "first")
      try save(withChild ? first : second, withChild ? "first" : "second")
      let stored = try GraphText.lines(container.newContext())
      try expect(stored, first, "the first")
      try expect(stored, second, "the second")
      let findings = try container.persistentStoreCoordinator.verify()
      if !findings.isEmpty { throw failure("\(findings)") }
    }
  }

  private func save(_ context: ManagedObjectContext, _ name: String) throws {
    let (policy, merging) = Self.policies.randomElement(using: &random) ?? Self.policies[0]
    context.mergePolicy = merging
    let changes = try RandomChanges(in: context, random: SplitMix(seed: random.next()), of: version)
    for _ in 0..<30 {
      do {
        log.append("-- save the \(name), \(policy)")
        return try context.save()
      } catch let error as SaveError {
        log.append("repair \(error)")
        guard case .validation = error else { break }
        try changes.repair(error)
      }
    }
    log.append("-- roll back")
    context.rollback()
  }

  private func expect(
    _ expected: [String: String], _ context: ManagedObjectContext, _ name: String
  ) throws {
    if context.hasChanges { throw failure("\(name) has changes after its save") }
    let differences = GraphText.differences(expected, try GraphText.lines(context))
    if !differences.isEmpty { throw failure(name + ":\n" + differences.joined(separator: "\n")) }
  }

  private func failure(_ text: String) -> Difference {
    Difference(
      description: "seed \(seed), \(text)\n" + log.joined(separator: "\n") + "\n" + RandomShapes.text(version)
    )
  }
}
