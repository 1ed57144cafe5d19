import Foundation

@testable import CDRuntime

// Saves, which the oracle foretells, and what is in the store after them.
extension RandomWorld {
  func save(_ side: RandomSide) throws {
    var failure: (any Error)?
    do { try side.context.save() } catch { failure = error }
    if let others = side.behind {
      try settle(side, others, failure)
    } else {
      try compare(failure, side)
      if failure == nil { finish(side, storing: side.graph.saved()) }
    }
    if failure == nil, !isOver { try checkStore() }
  }

  private func compare(_ failure: (any Error)?, _ side: RandomSide) throws {
    let mistakes = side.graph.mistakes()
    switch failure {
    case nil:
      guard mistakes.isEmpty else { throw Difference(description: "saved in spite of \(mistakes)") }
      guard !side.graph.hasDuplicates else { throw Difference(description: "saved duplicates") }
    case SaveError.validation(let errors)?:
      let found = Set(
        try errors.map {
          OracleGraph.Mistake(
            number: try number(of: $0.objectID), property: $0.property ?? "",
            isDenial: $0.reason == .deleteDenied)
        })
      guard found == mistakes, errors.count == found.count else {
        throw Difference(description: "mistakes \(errors), expected \(mistakes)")
      }
    case SaveError.notUnique? where mistakes.isEmpty && side.graph.hasDuplicates: break
    case let error?: throw Difference(description: "save: \(error)")
    }
  }

  /// The end of a save of a context that others were faster than.
  private func settle(_ side: RandomSide, _ others: Set<Int>, _ failure: (any Error)?) throws {
    let known = side.graph.rows.filter { number, row in
      guard let old = side.base.rows[number], row.isDeleted || row.attributes != old.attributes else {
        return false
      }
      // What both have deleted is gone, as both want it.
      guard let new = stored.rows[number] else { return !row.isDeleted }
      return new.attributes != old.attributes
    }.keys
    if failure == nil, !known.isEmpty {
      throw Difference(description: "saved in spite of a conflict on \(known.sorted())")
    }
    if side.graph.involved().union(side.attempted.keys).isDisjoint(with: others) {
      // Neither has to do with what the other did.
      var merged = side.graph
      for number in merged.rows.keys where !side.graph.touched.contains(number) {
        merged.rows[number] = stored.rows[number]
      }
      for (number, row) in stored.rows where merged.rows[number] == nil { merged.rows[number] = row }
      let clean = side.graph
      side.graph = merged
      defer { if failure != nil { side.graph = clean } }
      try compare(failure, side)
      if failure == nil { finish(side, storing: merged.saved()) }
    } else if failure == nil {
      let found = try readStore()
      isOver = !found.hasOnePartnerEach
      if isOver { return }
      finish(side, storing: found)
    }
    if failure != nil {
      side.context.rollback()
      side.start(from: stored)
    }
    _ = try side.context.fetch(FetchRequest<ManagedObject>(entityName: "Mark"))
    try compareAll(side)
  }

  private func finish(_ side: RandomSide, storing graph: OracleGraph) {
    let changes = side.graph.touched.union(side.attempted.keys)
    stored = graph
    saves += 1
    side.start(from: graph)
    for other in sides where other !== side && !other.isClean {
      other.behind = (other.behind ?? []).union(changes)
    }
  }

  private func checkStore() throws {
    savesUntilCheck -= 1
    guard savesUntilCheck <= 0 else { return }
    savesUntilCheck = 3
    let fresh = RandomSide(container.newContext(), stored)
    try compareAll(fresh)
    let findings = try container.persistentStoreCoordinator.verify().filter {
      // A rule of noAction leaves such.
      if case .danglingReference("Item", _, "Owner") = $0 { return false }
      return true
    }
    guard findings.isEmpty else { throw Difference(description: "\(findings)") }
  }

  /// The store as a fresh context reads it.
  private func readStore() throws -> OracleGraph {
    let context = container.newContext()
    var graph = OracleGraph(stored.model)
    for name in stored.model.entityNames where stored.model.isRoot(name) {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: name)) {
        let entity = object.entity.name
        var row = OracleRow(entity: entity, key: object.key, attributes: [:], isInserted: false)
        for attribute in stored.model.attributes(of: entity) {
          let value = try object.value(forKey: attribute.name).attribute ?? .null
          if value != .null { row.attributes[attribute.name] = value }
        }
        for relation in stored.model.relations(of: entity) {
          let value = try object.value(forKey: relation.name)
          row.toOne[relation.name] = try value.object.map { try number(of: $0.objectID) }
          let many = try value.objects.map { try number(of: $0.objectID) }
          if !many.isEmpty { row.toMany[relation.name] = many }
        }
        graph.rows[try number(of: object.objectID)] = row
      }
    }
    return graph
  }
}
