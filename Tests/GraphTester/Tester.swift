import CDModel
public import Foundation
import SeededRandom

/// Runs random programs on the runtime and on the reference model until they differ.
public struct Tester: Sendable {
  /// What a run was asked for.
  public struct Options: Sendable {
    public var stores: [StoreKind] = StoreKind.allCases
    public var steps = 120
    public var shrinks = true
    /// Whether only those programs run in which several root contexts change the same objects.
    public var contendsOnly = false
    public var folder = FileManager.default.temporaryDirectory

    public init() {}
  }

  /// A difference, cut down to the steps and the parts of the schema that it needs.
  public struct Finding: Error, CustomStringConvertible, Sendable {
    public let seed: UInt64
    public let store: StoreKind
    public let difference: String
    public let steps: Int
    /// Swift that can be pasted into a test.
    public let swift: String

    public var description: String {
      """
      seed \(seed) on \(store.rawValue), \(steps) steps: \(difference)

      \(swift)
      """
    }
  }

  struct Program: Sendable {
    var schema: Schema
    var hasUndo: Bool
    var looksAtEveryStep: Bool
    var operations: [Operation]
  }

  public var options: Options
  var mutation: Mutation?
  /// Whether differences from a wrong reference are cut down too.
  var shrinksMutations = false

  public init(options: Options = Options()) { self.options = options }

  // MARK: - Runs

  /// Whether the options ask for the program of a seed.
  public func isWanted(seed: UInt64) -> Bool {
    guard options.contendsOnly else { return true }
    var random = SplitMix(seed: seed)
    _ = options.stores.randomElement(using: &random)
    return Self.plan(using: &random).contends
  }

  /// Runs the program of a seed.
  ///
  /// - Returns: What it did, and the difference where there is one.
  public func run(seed: UInt64) -> (counts: Counts, finding: Finding?) {
    var random = SplitMix(seed: seed)
    let kind = options.stores.randomElement(using: &random) ?? .sqlite
    var (plan, schema) = (Self.plan(using: &random), Schema())
    var maker = RandomSchema(random: SplitMix(seed: seed ^ 0x5EED), features: plan.features)
    schema = maker.schema()
    Self.divide(&schema, seed)
    if kind == .memory { plan.reopens = false }
    var program = Program(
      schema: schema, hasUndo: plan.hasUndo, looksAtEveryStep: plan.looksAtEveryStep, operations: [])
    var counts = Counts()
    counts.programs = 1
    counts.programsOnTwoStores = schema.rootsBeside.isEmpty ? 0 : 1
    do {
      let interpreter = try interpreter(for: program, kind)
      var generator = Generator(schema: schema, plan: plan, random: random)
      do {
        for _ in 0..<options.steps {
          let operation = generator.next(interpreter.world)
          program.operations.append(operation)
          try interpreter.take(operation)
        }
        counts += interpreter.counts
        return (counts, nil)
      } catch is Abandoned {
        counts += interpreter.counts
        counts.abandoned += 1
        return (counts, nil)
      } catch {
        counts += interpreter.counts
        throw error
      }
    } catch {
      var difference = Self.text(error)
      if options.shrinks, mutation == nil || shrinksMutations {
        (program, difference) = shrunk(program, difference, kind)
      }
      return (
        counts,
        Finding(
          seed: seed, store: kind, difference: difference, steps: program.operations.count,
          swift: Self.swift(of: program, kind))
      )
    }
  }

  private static func plan(using random: inout SplitMix) -> Plan {
    var plan = Plan()
    func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &random) < probability }
    plan.hasUndo = chance(0.4)
    plan.hasChildren = chance(0.4)
    plan.hasSeveralRoots = chance(0.35)
    plan.hasBatches = chance(0.3)
    plan.hasPolicies = chance(0.3)
    plan.contends = plan.hasSeveralRoots && chance(0.7)
    if plan.contends { plan.hasPolicies = chance(0.9) }
    plan.looksAtEveryStep = chance(0.5)
    plan.features.deny = chance(0.6)
    plan.features.noAction = chance(0.3)
    plan.features.unique = chance(0.6)
    // Undocumented: whether a row counts as changed by others if they have computed a derived attribute of it.
    plan.features.derived = chance(0.5) && !plan.hasSeveralRoots
    return plan
  }

  /// Puts some of the entities into a second store, where no relationship leads from these to the others.
  private static func divide(_ schema: inout Schema, _ seed: UInt64) {
    var random = SplitMix(seed: seed ^ 0xBE51DE)
    let groups = schema.groupsOfRoots
    guard groups.count > 1, Bool.random(using: &random) else { return }
    let beside = groups.dropFirst().filter { _ in Bool.random(using: &random) } + [groups[groups.count - 1]]
    schema.rootsBeside = Set(beside.joined().map { schema.entities[$0].name })
  }

  private func interpreter(for program: Program, _ kind: StoreKind) throws -> Interpreter {
    try Interpreter(
      schema: program.schema, kind: kind, folder: options.folder, hasUndo: program.hasUndo,
      looksAtEveryStep: program.looksAtEveryStep, mutation: mutation)
  }

  private static func text(_ error: any Error) -> String {
    (error as? Difference)?.description ?? "a step throws \(error)"
  }

  // MARK: - Shrinking

  /// The difference that a program leads to, and how many steps it takes.
  private func difference(of program: Program, _ kind: StoreKind) -> (text: String, steps: Int)? {
    var steps = 0
    do {
      let interpreter = try interpreter(for: program, kind)
      for operation in program.operations {
        steps += 1
        try interpreter.take(operation)
      }
      return nil
    } catch is Abandoned { return nil } catch { return (Self.text(error), steps) }
  }

  /// The kind of a difference, so that shrinking does not go from one to another.
  private static func kind(of difference: String) -> String {
    difference.prefix(while: { $0 != "[" }).filter { !$0.isNumber }
  }

  /// Leaves out steps, in portions that get smaller, and then properties of the schema, as long as a difference of
  /// the same kind is left.
  private func shrunk(_ program: Program, _ difference: String, _ kind: StoreKind) -> (Program, String) {
    var best = program
    var text = difference
    let wanted = Self.kind(of: difference)
    func tries(_ candidate: Program) -> Bool {
      guard let found = self.difference(of: candidate, kind), Self.kind(of: found.text) == wanted else {
        return false
      }
      best = candidate
      best.operations = Array(candidate.operations.prefix(found.steps))
      text = found.text
      return true
    }
    guard tries(program) else { return (program, difference + " (not the same when it is run again)") }
    var changed = true
    var rounds = 0
    while changed, rounds < 4 {
      changed = false
      rounds += 1
      var portion = max(1, best.operations.count / 2)
      while portion >= 1 {
        var start = 0
        while start < best.operations.count {
          var candidate = best
          candidate.operations.removeSubrange(start..<min(start + portion, best.operations.count))
          if tries(candidate) { changed = true } else { start += portion }
        }
        portion /= 2
      }
      for name in best.schema.attributesByName.keys.sorted() + best.schema.relationshipsByName.keys.sorted() {
        var candidate = best
        candidate.schema = best.schema.removing(property: name)
        if tries(candidate) { changed = true }
      }
      for index in best.schema.entities.indices {
        var candidate = best
        candidate.schema.entities[index].unique = []
        if !best.schema.entities[index].unique.isEmpty, tries(candidate) { changed = true }
      }
      for name in best.schema.relationshipsByName.keys.sorted() {
        for simpler in Self.simpler {
          var candidate = best
          var isOther = false
          candidate.schema.entities = best.schema.entities.map { entity in
            var entity = entity
            for index in entity.relationships.indices where entity.relationships[index].name == name {
              isOther = simpler(&entity.relationships[index])
            }
            return entity
          }
          if isOther, tries(candidate) { changed = true }
        }
      }
      if best.hasUndo {
        var candidate = best
        candidate.hasUndo = false
        if tries(candidate) { changed = true }
      }
      for index in best.operations.indices {
        guard case .insert(let context, let object, let entity, let values) = best.operations[index] else {
          continue
        }
        for key in values.keys.sorted() {
          var candidate = best
          var left = values
          left[key] = nil
          candidate.operations[index] = .insert(context, object, entity: entity, values: left)
          if tries(candidate) { break }
          if best.operations.count <= index { break }
        }
        if best.operations.count <= index { break }
      }
    }
    return (best, text)
  }

  private static let simpler: [@Sendable (inout Schema.Relationship) -> Bool] = [
    { relationship in
      defer { relationship.rule = .nullify }
      return relationship.rule != .nullify
    },
    { relationship in
      defer { relationship.isOrdered = false }
      return relationship.isOrdered
    },
    { relationship in
      defer { relationship.isOptional = true }
      return !relationship.isOptional
    },
    { relationship in
      defer { relationship.maximumCount = nil }
      return relationship.maximumCount != nil
    },
  ]

  private static func swift(of program: Program, _ kind: StoreKind) -> String {
    func store(_ url: String) -> String { kind == .memory ? ".inMemory" : ".\(kind.rawValue)(\(url))" }
    let stores =
      program.schema.rootsBeside.isEmpty
      ? "at: \(store("url"))"
      : "stores: [PersistentStoreDescription(\(store("url"))), "
        + "PersistentStoreDescription(\(store("beside")), configuration: \"\(Schema.configurationBeside)\")]"
    var lines = [
      program.schema.swift,
      "let container = PersistentContainer(try PersistentStoreCoordinator(model: model, \(stores)))",
      "let c0 = container.newContext()",
    ]
    if program.hasUndo { lines.append("c0.undoManager = ContextUndoManager()") }
    if program.looksAtEveryStep {
      lines.append("// After each step, everything of its context is fetched and read.")
    }
    var entities: [ObjectNumber: Int] = [:]
    var known: Set<String> = []
    func slot(_ key: String, _ object: ObjectNumber) -> Int {
      entities[object].flatMap { program.schema.slot(of: key, in: $0) } ?? -1
    }
    for operation in program.operations {
      if let context = operation.context {
        for object in operation.objects where known.insert(Operation.name(object, context)).inserted {
          lines.append(
            "let \(Operation.name(object, context)) = try c\(context).object(with: id\(object))")
        }
      }
      var text = operation.swift(slot: slot)
      switch operation {
      case .insert(let context, let object, let entity, var values):
        let index = program.schema.entities.firstIndex { $0.name == entity }
        entities[object] = index
        known.insert(Operation.name(object, context))
        if let index {
          let names = Set(program.schema.attributes(of: index).map(\.name))
          values = values.filter { names.contains($0.key) }
          text = Operation.insert(context, object, entity: entity, values: values).swift(slot: slot)
        }
        lines.append(text)
        lines.append("let id\(object) = \(Operation.name(object, context)).objectID")
        continue
      case .batchInsert(_, let object, let entity, _):
        entities[object] = program.schema.entities.firstIndex { $0.name == entity }
      default: break
      }
      // Each step is a turn of its context: it learns of others' saves, and ends the undo manager's event.
      if let context = operation.context, !text.hasPrefix("let "), !text.hasPrefix("//"),
        !text.hasPrefix("var ")
      {
        let isThrowing = text.contains("try ")
        text =
          "\(isThrowing ? "try " : "")c\(context).perform { \(text.components(separatedBy: "  // ")[0]) }"
      }
      lines.append(text)
    }
    return lines.joined(separator: "\n")
  }
}
