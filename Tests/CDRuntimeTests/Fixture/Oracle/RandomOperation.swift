import CDRuntime
import SeededRandom

/// A step of a random run. Numbers pick among what there is when the step is taken, so that a list of steps keeps
/// a meaning when some of them are left out.
enum RandomOperation: Sendable {
  case insert(entity: Int)
  case set(row: Int, attribute: Int, value: Int)
  case setToOne(row: Int, relation: Int, other: Int?)
  case setToMany(row: Int, relation: Int, others: [Int])
  case add(row: Int, relation: Int, other: Int)
  case insertAt(row: Int, relation: Int, other: Int, index: Int)
  case remove(row: Int, relation: Int, other: Int)
  case reorder(row: Int, relation: Int, seed: UInt64)
  case swapCodes(row: Int, other: Int)
  case delete(row: Int)
  case fetch(RandomFetch)
  case compare(row: Int)
  case compareAll
  /// Lets go of the objects that nobody else holds, so that they are read again.
  case letGo
  case refresh(row: Int, merging: Bool)
  case refreshAll
  case rollback
  case reset
  case save

  /// As many of each as the weights say.
  static func random(_ random: inout SplitMix) -> RandomOperation {
    func pick() -> Int { Int.random(in: 0..<1000, using: &random) }
    switch Int.random(in: 0..<112, using: &random) {
    case 0..<14: return .insert(entity: pick())
    case 14..<24: return .set(row: pick(), attribute: pick(), value: pick())
    case 24..<36: return .setToOne(row: pick(), relation: pick(), other: pick() % 5 == 0 ? nil : pick())
    case 36..<41:
      let count = pick() % 4
      return .setToMany(row: pick(), relation: pick(), others: (0..<count).map { _ in pick() })
    case 41..<53: return .add(row: pick(), relation: pick(), other: pick())
    case 53..<57: return .insertAt(row: pick(), relation: pick(), other: pick(), index: pick() % 4)
    case 57..<66: return .remove(row: pick(), relation: pick(), other: pick())
    case 66..<69: return .reorder(row: pick(), relation: pick(), seed: random.next())
    case 69..<72: return .swapCodes(row: pick(), other: pick())
    case 72..<77: return .delete(row: pick())
    case 77..<81: return .fetch(RandomFetch(&random))
    case 81..<85: return .compare(row: pick())
    case 85: return .compareAll
    case 86..<91: return .letGo
    case 91..<94: return .refresh(row: pick(), merging: pick() % 2 == 0)
    case 94: return .refreshAll
    case 95..<97: return .rollback
    case 97: return .reset
    default: return .save
    }
  }
}

/// A fetch whose answer the oracle knows.
struct RandomFetch: Sendable {
  enum Condition: Int, CaseIterable, Sendable {
    case all, named, unnamed, ranked, unowned, ownedByName, hasChildren, ranksBelow, inGroups, parentRanked
  }

  let condition: Condition
  let value: Int
  let entity: Int
  let sorts: Bool
  let isAscending: Bool
  let limit: Int?
  let offset: Int
  let includesSubentities: Bool

  init(_ random: inout SplitMix) {
    condition = Condition.allCases.randomElement(using: &random) ?? .all
    value = Int.random(in: 0..<4, using: &random)
    entity = Int.random(in: 0..<3, using: &random)
    sorts = Bool.random(using: &random)
    isAscending = Bool.random(using: &random)
    limit = Bool.random(using: &random) ? Int.random(in: 0..<5, using: &random) : nil
    offset = Bool.random(using: &random) ? Int.random(in: 0..<3, using: &random) : 0
    includesSubentities = Int.random(in: 0..<4, using: &random) > 0
  }
}

/// A step, and in which of two contexts it is taken.
struct RandomStep: Sendable {
  var side: Int
  var operation: RandomOperation
  /// Whether all that is read in the step is read from one state of the store.
  var isInOneState = false

  static func list(_ random: inout SplitMix, count: Int) -> [RandomStep] {
    // Half of the runs have one context; in the others one is used for a while, then the other.
    let sides = Bool.random(using: &random) ? 1 : 2
    var side = 0
    return (0..<count).map { _ in
      if Int.random(in: 0..<6, using: &random) == 0 { side = Int.random(in: 0..<sides, using: &random) }
      return RandomStep(
        side: side, operation: .random(&random), isInOneState: Int.random(in: 0..<4, using: &random) == 0)
    }
  }
}
