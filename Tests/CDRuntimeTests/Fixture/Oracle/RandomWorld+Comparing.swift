import Foundation

@testable import CDRuntime

// What can be seen of a context, compared with the oracle.
extension RandomWorld {
  private func check(_ isSame: Bool, _ text: @autoclosure () -> String) throws {
    if !isSame { throw Difference(description: text()) }
  }

  func compareAll(_ side: RandomSide) throws {
    for name in stored.model.entityNames where stored.model.isRoot(name) {
      let request = FetchRequest<ManagedObject>(entityName: name)
      let found = try side.context.fetch(request).map { try number(of: $0.objectID) }
      let expected = side.graph.live(name).sorted { key($0, side) < key($1, side) }
      try check(found == expected, "fetch of all \(name): \(found), expected \(expected)")
      let count = try side.context.count(for: request)
      try check(count == expected.count, "count of \(name): \(count), expected \(expected.count)")
    }
    for number in side.graph.live() { try compare(number, side) }
    try compareChanges(side)
  }

  private func key(_ number: Int, _ side: RandomSide) -> Int64 { side.graph.rows[number]?.key ?? 0 }

  private func compareChanges(_ side: RandomSide) throws {
    let rows = side.graph.rows
    let context = side.context
    if rows != side.base.rows,
      rows.contains(where: {
        !($0.value.isInserted && $0.value.isDeleted) && $0.value != side.base.rows[$0.key]
      })
    {
      try check(context.hasChanges, "no changes")
    }
    if side.isClean { try check(!context.hasChanges, "changes where nothing was done") }
    func numbers(_ objects: [ManagedObject]) throws -> Set<Int> {
      Set(try objects.map { try number(of: $0.objectID) })
    }
    let inserted = Set(rows.filter { $0.value.isInserted && !$0.value.isDeleted }.keys)
    try check(try numbers(context.insertedObjects) == inserted, "inserted objects")
    let deleted = Set(rows.filter { !$0.value.isInserted && $0.value.isDeleted }.keys)
    try check(try numbers(context.deletedObjects) == deleted, "deleted objects")
    let updated = try numbers(context.updatedObjects)
    let possible = side.graph.touched.union(side.attempted.keys)
    try check(updated.isSubset(of: possible), "updated \(updated.subtracting(possible).sorted())")
  }

  func compare(_ number: Int, _ side: RandomSide) throws {
    guard let row = side.graph.rows[number], !row.isDeleted else { return }
    let object = try object(number, side)
    func name(_ text: String) -> String {
      "\(row.entity) #\(number) of context \(sides[0] === side ? 0 : 1): \(text)"
    }
    for attribute in stored.model.attributes(of: row.entity) {
      let found = try object.value(forKey: attribute.name).attribute
      let expected = row.attributes[attribute.name] ?? .null
      try check(
        found == expected, name("\(attribute.name) is \(String(describing: found)), expected \(expected)"))
    }
    try check(!object.isDeleted && !object.isInaccessible, name("\(object)"))
    try check(object.isInserted == row.isInserted, name("\(object), inserted \(row.isInserted)"))
    for relation in stored.model.relations(of: row.entity) {
      let value = try object.value(forKey: relation.name)
      let objects = relation.isToMany ? value.objects : value.object.map { [$0] } ?? []
      let found = try objects.map { try self.number(of: $0.objectID) }
      let expected = side.graph.related(number, relation)
      let isSame = relation.isOrdered ? found == expected : found.sorted() == expected.sorted()
      try check(isSame, name("\(relation.name) is \(found), expected \(expected)"))
      for (other, number) in zip(objects, found) {
        let registered = side.context.registeredObject(for: other.objectID)
        try check(registered === other, name("\(relation.name) gives another #\(number)"))
      }
    }
    guard !row.isInserted else { return }
    let changed = Set(object.changedValues.keys)
    // A reference to an object that is gone is cleared at times, and reads as nil before and after.
    let empty = stored.model.relations(of: row.entity).filter { !$0.isToMany && row.toOne[$0.name] == nil }
    let possible = side.graph.changedProperties(of: number).union(side.attempted[number] ?? [])
      .union(empty.map(\.name))
    try check(changed.isSubset(of: possible), name("changed \(changed), expected \(possible)"))
    for attribute in stored.model.attributes(of: row.entity)
    where row.attributes[attribute.name] != side.base.rows[number]?.attributes[attribute.name] {
      try check(changed.contains(attribute.name), name("\(attribute.name) is not among the changed values"))
    }
  }

  func compare(_ fetch: RandomFetch, _ side: RandomSide) throws {
    let request = try fetch.request()
    let expected = fetch.answer(in: side.graph)
    let found = try side.context.fetch(request).map { try number(of: $0.objectID) }
    try check(found == expected, "\(fetch): \(found), expected \(expected)")
    let count = try side.context.count(for: request)
    try check(count == expected.count, "count of \(fetch): \(count), expected \(expected.count)")
  }
}
