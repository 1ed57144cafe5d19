import CDConsole
import CDModel
import CDRuntime
import Foundation

/// Loads the rows of a dump, or of `cdstore fetch --format json`, in one transaction and in bounded memory.
///
/// The file is read three times. The first pass checks its form and collects the `"@id"`s. The second pass inserts the
/// objects, with references to objects that may follow later. The third pass sets the other relationships.
struct RowImport {
  private let file: FileHandle
  private let graph: EntityGraph
  private let reading: AttributeReading
  /// The entity of rows that name none; nil if each must name one.
  private let entity: String?
  /// The String attribute that stores the `"@id"`s; nil for none.
  private let idAttribute: String?
  private let progress: ProgressLine
  private let total: Double
  /// The description of the dumped store; nil for other files.
  private(set) var beginning: StoreBeginning?
  private var keys: RowKeys
  private var mistakes: [String] = []
  /// The number of objects of each entity, in the order of the file.
  private(set) var counts: [(entity: String, count: Int)] = []
  /// The number of values that may be so large that a file is written for each. Known after ``scan(holds:)``.
  private(set) var largeValueCount = 0
  /// The references to objects of other stores.
  private(set) var outsideCounts = OutsideCounts()
  private let outsideForm: OutsideForm
  /// Whether a row has a relationship that the third pass sets.
  private var needsRelating = false
  /// Whether a relationship of an entity leads to objects of another store.
  private var leadsOutside: (_ relationship: String, _ entity: String) -> Bool = { _, _ in false }
  /// The attributes of each entity whose large values are in files.
  private var externalAttributes: [String: Set<String>] = [:]
  /// The first partner of an object that rows relate to two others.
  private var former: ManagedObjectID?

  private static let maximumMistakes = 100

  init(
    _ file: FileHandle, graph: EntityGraph, entity: String?, idAttribute: String?, progress: ProgressLine
  ) throws {
    self.file = file
    self.graph = graph
    self.entity = entity
    self.idAttribute = idAttribute
    self.progress = progress
    reading = AttributeReading(graph: graph)
    keys = RowKeys(graph)
    outsideForm = OutsideForm(graph)
    for entity in graph.version.entities {
      externalAttributes[entity.name] = Set(
        graph.attributes(of: entity.name).filter(\.mayNameFile).map(\.name))
    }
    total = Double(try file.seekToEnd())
  }

  /// Lines that say which URIs have changed.
  var changedIdentifiers: [String] { keys.changedIdentifiers }

  private mutating func note(_ mistake: String) throws {
    mistakes.append(mistake)
    if mistakes.count == Self.maximumMistakes {
      mistakes.append("there may be more mistakes; correct these first")
      try throwMistakes()
    }
  }

  private mutating func throwMistakes() throws {
    try completeContradiction()
    if !mistakes.isEmpty { throw Failure(mistakes.joined(separator: "\n")) }
  }

  /// Calls a body with each object of the file.
  private func forEachItem(_ pass: Int, _ subject: String, _ body: (JSONItems.Item) throws -> Void) throws {
    var items = try JSONItems(file)
    while let item = try items.next() {
      progress.show(part: (Double(pass) + Double(items.bytesRead) / max(total, 1)) / 3, subject)
      try body(item)
    }
  }

  // MARK: The first pass

  /// Checks the form of the whole file, and collects the `"@id"`s.
  ///
  /// - Throws: ``Failure`` with every mistake.
  mutating func scan(holds: (String) -> Bool) throws {
    var count = 0
    var isDump = false
    var end: Int64?
    var places: [String: Int] = [:]
    try forEachItem(0, "checking") { item in
      if end != nil { throw Failure("line \(item.line): a row follows the end of the dump") }
      if item.json[DumpForm.header] != nil {
        guard count == 0, !isDump else {
          throw Failure("line \(item.line): a second dump begins; load it by itself")
        }
        isDump = true
        beginning = try DumpForm.beginning(item.json)
        return
      }
      if let trailer = item.json[DumpForm.trailer] {
        guard case .int(let number)? = trailer["objects"] else {
          throw Failure("line \(item.line): the end of the dump does not say how many objects there are")
        }
        end = number
        return
      }
      count += 1
      guard let row = try row(item) else { return }
      guard holds(row.entity) else {
        return try note("line \(item.line): another store holds the objects of '\(row.entity)'")
      }
      if let place = places[row.entity] {
        counts[place].count += 1
      } else {
        places[row.entity] = counts.count
        counts.append((row.entity, 1))
      }
      noteLargeValues(of: row)
      if let id = row.id, !keys.note(id, of: row.entity) {
        try note("line \(item.line): another row has the @id '\(id)'")
      }
    }
    if isDump, end == nil {
      throw Failure("the dump is incomplete, because its last line is missing; dump the store again")
    }
    if let end, end != count {
      throw Failure("the dump has \(count) objects, but \(end) were written; dump the store again")
    }
    if let idAttribute, count > 0, !counts.contains(where: { keepsID($0.entity) }) {
      try note("none of the entities has a String attribute '\(idAttribute)' for --id")
    }
    if keys.hasDuplicates { try noteDuplicates() }
    try throwMistakes()
  }

  private mutating func noteLargeValues(of row: Row) {
    guard let names = externalAttributes[row.entity], !names.isEmpty else { return }
    for member in row.members where names.contains(member.key) {
      var text = member.value
      if case .object(let members) = text, members.count == 1 { text = members[0].value }
      // The text in base64 is longer than the value.
      if case .string(let text) = text, text.utf8.count > ExternalFiles.largestInlineSize {
        largeValueCount += 1
      }
    }
  }

  /// Finds the rows with the URIs of others. The file is read again, because usually there are none.
  private mutating func noteDuplicates() throws {
    var known: Set<String> = []
    try forEachItem(0, "checking") { item in
      guard case .string(let id)? = item.json["@id"], let uri = ManagedObjectID(uriText: id) else { return }
      let root = graph.root(of: uri.entityName)?.name ?? uri.entityName
      if !known.insert("\(uri.storeID) \(root) \(uri.number)").inserted {
        try note("line \(item.line): another row has the @id '\(id)'")
      }
    }
  }

  private struct Row {
    let entity: String
    let id: String?
    let members: [JSONValue.Member]
  }

  /// The entity and the `"@id"` of a row; nil after a mistake.
  private mutating func row(_ item: JSONItems.Item) throws -> Row? {
    guard case .object(let members) = item.json else { return nil }
    var id: String?
    switch item.json["@id"] {
    case .string(let text)?: id = text
    case .int(let number)?: id = "\(number)"
    case nil: break
    case let other?:
      try note("line \(item.line): @id takes a text or an integer, not \(other.kindName)")
      return nil
    }
    var name = entity
    if let id, let uri = ManagedObjectID(uriText: id) { name = uri.entityName }
    switch item.json["@entity"] {
    case .string(let text)?: name = text
    case nil: break
    case let other?:
      try note("line \(item.line): @entity takes the name of an entity, not \(other.kindName)")
      return nil
    }
    guard let name else {
      try note(
        "line \(item.line): the row does not name its entity; add \"@entity\", or name the entity of all rows with --entity"
      )
      return nil
    }
    guard let found = graph.entity(name) else {
      let meant = closestName(to: name, in: graph.version.entities.map(\.name))
      try note("line \(item.line): the model has no entity '\(name)'" + Self.question(meant))
      return nil
    }
    guard !found.isAbstract else {
      try note("line \(item.line): '\(name)' is abstract; name one of its subentities")
      return nil
    }
    return Row(entity: name, id: id, members: members)
  }

  private static func question(_ meant: String?) -> String { meant.map { "; did you mean '\($0)'?" } ?? "" }

  private func keepsID(_ entity: String) -> Bool {
    guard let idAttribute, case .attribute(let attribute)? = graph.property(idAttribute, of: entity) else {
      return false
    }
    return attribute.type == .string
  }

  // MARK: The other passes

  /// Inserts the objects and sets their relationships.
  ///
  /// - Parameter leadsOutside: Whether a relationship of an entity leads to objects of another store.
  /// - Throws: ``Failure`` with the lines of the mistakes. The caller then rolls back.
  mutating func insert(
    into objects: ObjectImport, leadsOutside: @escaping (_ relationship: String, _ entity: String) -> Bool
  ) throws {
    self.leadsOutside = leadsOutside
    try keys.assign(in: objects)
    try pass(1, "inserting", objects) { line, row, key, size, rows in
      try rows.insert(row, key, line, size, objects)
    }
    try throwMistakes()
    if needsRelating {
      try pass(2, "relating", objects) { line, row, key, _, rows in
        try rows.relate(row, key, line, objects)
      }
      try throwMistakes()
    }
    try reserveKeys(of: objects)
  }

  /// The numbers of objects that were deleted before the dump are not given to new objects, if the store is the dumped one.
  private func reserveKeys(of objects: ObjectImport) throws {
    guard let beginning, let id = beginning.metadata["storeUUID"].flatMap(UUID.init) else { return }
    for (entity, next) in beginning.nextKeys where (try? objects.storeID(ofEntity: entity)) == id {
      try objects.reserve(upTo: next, ofEntity: entity)
    }
  }

  private mutating func pass(
    _ number: Int, _ subject: String, _ objects: ObjectImport,
    _ body: (Int, Row, Int64, Int, inout RowImport) throws -> Void
  ) throws {
    keys.restart()
    do {
      try forEachItem(number, subject) { item in
        guard item.json[DumpForm.header] == nil, item.json[DumpForm.trailer] == nil, let row = try row(item)
        else { return }
        let key: Int64
        if let id = row.id, let known = keys.key(of: id, entity: row.entity) {
          key = known
        } else {
          key = try keys.newKey(of: row.entity, in: objects)
        }
        try body(item.line, row, key, item.size, &self)
      }
      if mistakes.isEmpty { try objects.save() }
    } catch SaveError.conflict(let conflicts) where conflicts.allSatisfy({ $0.reason == .partnerTaken }) {
      throw try failure(conflicts)
    } catch let error as SaveError {
      throw try failure(error)
    }
  }

  private mutating func insert(_ row: Row, _ key: Int64, _ line: Int, _ size: Int, _ objects: ObjectImport)
    throws
  {
    var attributes: [(name: String, value: AttributeValue)] = []
    var derived: [(attribute: String, value: AttributeValue)] = []
    var references: [(relationship: String, key: Int64)] = []
    for member in row.members where !member.key.hasPrefix("@") {
      do {
        switch graph.property(member.key, of: row.entity) {
        case .attribute(let attribute)? where attribute.derivation != nil:
          // A row of a fetch has all derived values, but most of them are computed again.
          if attribute.isTransient || objects.computes(member.key, ofEntity: row.entity) { continue }
          derived.append((member.key, try reading.value(member.value, attribute)))
        case .attribute(let attribute)?:
          attributes.append((member.key, try reading.value(member.value, attribute)))
        case .relationship(let relationship)?:
          guard try objects.isReference(member.key, ofEntity: row.entity) else {
            let isEmpty =
              member.value == (relationship.isToMany ? JSONValue.array([]) : JSONValue.null)
            if !isEmpty { needsRelating = true }
            continue
          }
          if leadsOutside(member.key, row.entity) {
            let found = try outsideForm.references(member.value, relationship)
            outsideCounts.add(found.count, row.entity, member.key)
            references += found.map { (member.key, $0.number) }
            continue
          }
          let found = try targets(member.value, relationship, objects)
          if let found = found.first { references.append((member.key, found.key)) }
        case .fetched?: throw Failure("is a fetched property, which cannot be set")
        case nil:
          let names =
            graph.attributes(of: row.entity).map(\.name) + graph.relationships(of: row.entity).map(\.name)
          throw Failure(
            "the entity has no such property" + Self.question(closestName(to: member.key, in: names)))
        }
      } catch let failure as Failure {
        try note("line \(line), \(member.key): \(failure)")
      }
    }
    guard mistakes.isEmpty else { return }
    if let idAttribute, let id = row.id, keepsID(row.entity),
      !attributes.contains(where: { $0.name == idAttribute })
    {
      attributes.append((idAttribute, .string(id)))
    }
    try objects.insert(
      entity: row.entity, key: key, references: references, derived: derived, size: size
    ) { object in
      for attribute in attributes {
        do {
          try object.setValue(.attribute(attribute.value), forKey: attribute.name)
        } catch { throw Failure("line \(line), \(attribute.name): \(error)") }
      }
    }
  }

  private mutating func relate(_ row: Row, _ key: Int64, _ line: Int, _ objects: ObjectImport) throws {
    for member in row.members where !member.key.hasPrefix("@") {
      guard case .relationship(let relationship)? = graph.property(member.key, of: row.entity),
        try !objects.isReference(member.key, ofEntity: row.entity)
      else { continue }
      do {
        if leadsOutside(member.key, row.entity) {
          try relateOutside(row, key, relationship, member.value, objects)
          continue
        }
        let found = try targets(member.value, relationship, objects)
        guard !found.isEmpty, mistakes.isEmpty else { continue }
        try objects.relate(
          entity: row.entity, key: key, relationship: member.key, to: found.map(\.key))
      } catch let found as ObjectImport.Contradiction {
        former = found.former
        let object = subject(of: found, member.value, relationship, objects)
        try note("line \(line), \(member.key): \(object) already has another '\(found.relationship)'")
      } catch let failure as Failure {
        try note("line \(line), \(member.key): \(failure)")
      }
    }
  }

  /// The object that has another partner, as the row names it.
  private func subject(
    of contradiction: ObjectImport.Contradiction, _ json: JSONValue, _ relationship: RelationshipDescription,
    _ objects: ObjectImport
  ) -> String {
    guard let key = contradiction.given else { return "the object" }
    var ids = [json]
    if case .array(let list) = json { ids = list }
    for id in ids where (try? target(id, relationship, objects))?.key == key {
      switch id {
      case .string(let text): return "'\(text)'"
      case .int(let number): return "'\(number)'"
      default: break
      }
    }
    return "one of the objects"
  }

  /// Relates an object to objects of another store. The object's own store contains the relationship, or the other one.
  private mutating func relateOutside(
    _ row: Row, _ key: Int64, _ relationship: RelationshipDescription, _ json: JSONValue,
    _ objects: ObjectImport
  ) throws {
    let found = try outsideForm.references(json, relationship)
    guard !found.isEmpty else { return }
    let isHere = try objects.relate(
      entity: row.entity, key: key, relationship: relationship.name, toOutside: found)
    guard isHere else {
      throw Failure(
        "the store of '\(relationship.destination)' contains this relationship; load it there, as '\(relationship.inverse ?? "")'"
      )
    }
    outsideCounts.add(found.count, row.entity, relationship.name)
  }

  /// The objects that the JSON of a relationship names.
  private func targets(
    _ json: JSONValue, _ relationship: RelationshipDescription, _ objects: ObjectImport
  ) throws -> [RowKeys.Target] {
    switch json {
    case .null:
      if relationship.isToMany { throw Failure("takes a list of @ids") }
      return []
    case .array(let ids):
      guard relationship.isToMany else { throw Failure("takes one @id or null, not a list") }
      return try ids.map { try target($0, relationship, objects) }
    default:
      guard !relationship.isToMany else { throw Failure("takes a list of @ids, not \(json.kindName)") }
      return [try target(json, relationship, objects)]
    }
  }

  private func target(
    _ json: JSONValue, _ relationship: RelationshipDescription, _ objects: ObjectImport
  ) throws -> RowKeys.Target {
    let id: String
    if OutsideForm.isReference(json) {
      throw Failure(
        "leads to an object of another store, but this store has the objects of '\(relationship.destination)' itself; "
          + "load the file into a store without them")
    }
    switch json {
    case .string(let text): id = text
    case .int(let number): id = "\(number)"
    default: throw Failure("takes the @id of a row, not \(json.kindName)")
    }
    guard let target = try keys.target(id, of: relationship.destination, in: objects) else {
      throw Failure(
        "neither the file nor the store has an object of '\(relationship.destination)' with the @id '\(id)'; load its "
          + "row with this one")
    }
    guard graph.isKind(target.entity, of: relationship.destination) else {
      throw Failure(
        "'\(id)' is an object of '\(target.entity)', but the relationship leads to '\(relationship.destination)'"
      )
    }
    return target
  }

  // MARK: Errors

  /// The error with the lines of the objects.
  private mutating func failure(_ error: SaveError) throws -> Failure {
    let ids: [ManagedObjectID] =
      switch error {
      case .validation(let errors): errors.map(\.objectID)
      case .notUnique(let conflicts): conflicts.flatMap(\.objectIDs)
      default: []
      }
    if ids.isEmpty { return Failure("\(error)") }
    let lines = try findLines(of: Set(ids.map { object($0) }))
    func place(_ id: ManagedObjectID) -> String { lines[object(id)].map { "line \($0)" } ?? "\(id)" }
    switch error {
    case .validation(let errors):
      return Failure(
        errors.map {
          "\(place($0.objectID)), \($0.property ?? $0.entity): \($0.brokenBound?.description ?? $0.reason.description)"
        }
        .joined(separator: "\n"))
    case .notUnique(let conflicts):
      return Failure(
        conflicts.map { conflict in
          let names = conflict.properties.joined(separator: ", ")
          return
            "\(conflict.objectIDs.map(place).joined(separator: " and ")): objects of '\(conflict.entity)' have the "
            + "same \(names); change or remove one of them"
        }.joined(separator: "\n"))
    default: return Failure("\(error)")
    }
  }

  /// The error about objects that all have the same partner in a one-to-one relationship.
  private mutating func failure(_ conflicts: [SaveConflict]) throws -> Failure {
    let pairs = conflicts.map { conflict in [conflict.otherID, conflict.objectID].compactMap { $0 } }
    let found = try findLines(of: Set(pairs.joined().map { object($0) }))
    return Failure(
      zip(conflicts, pairs).map { conflict, pair in
        let names = conflict.keys.joined(separator: ", ")
        if let other = conflict.otherID, found[object(other)] == nil {
          let line = found[object(conflict.objectID)].map { "line \($0)" } ?? "\(conflict.objectID)"
          return
            "\(line), \(names): the store's object \(other) has the same one, which can belong to only one; set "
            + "its '\(names)' to nil first"
        }
        let places = pair.map { id in found[object(id)].map { "line \($0)" } ?? "\(id)" }
        return
          "\(places.joined(separator: " and ")), \(names): two objects name the same "
          + "one, which can belong to only one of them; keep one of the two"
      }.joined(separator: "\n"))
  }

  /// Adds the place of the first partner to the mistake about an object with two, which is the first mistake.
  private mutating func completeContradiction() throws {
    guard let former, !mistakes.isEmpty else { return }
    self.former = nil
    let line = try findLines(of: [object(former)])[object(former)]
    mistakes[0] += ", \(line.map { "the object of line \($0)" } ?? "\(former)"); keep one of the two"
  }

  /// Translates an error at the end of the import, which names objects by their identifiers: finds their lines.
  mutating func translated(_ error: any Error) throws -> any Error {
    guard case BatchError.invalid(let mistakes) = error else { return error }
    let found = try findLines(of: Set(mistakes.compactMap(\.objectID).map { object($0) }))
    return Failure(
      mistakes.map { mistake in
        let line = mistake.objectID.flatMap { found[object($0)] }
        let place = line.map { "line \($0)" } ?? mistake.objectID?.description ?? mistake.entity
        return "\(place), \(mistake.property ?? mistake.entity): \(mistake.reason)"
      }.joined(separator: "\n"))
  }

  /// An object of the store, with the root of its entity.
  private func object(_ id: ManagedObjectID) -> RowKeys.Target {
    RowKeys.Target(entity: root(id.entityName), key: id.number)
  }

  private func root(_ entity: String) -> String { graph.root(of: entity)?.name ?? entity }

  /// Finds the lines of inserted objects. The file is read again.
  private mutating func findLines(of wanted: Set<RowKeys.Target>) throws -> [RowKeys.Target: Int] {
    var found: [RowKeys.Target: Int] = [:]
    keys.restart()
    try forEachItem(2, "checking") { item in
      guard item.json[DumpForm.header] == nil, item.json[DumpForm.trailer] == nil, let row = try row(item),
        let key = row.id.flatMap({ keys.key(of: $0, entity: row.entity) })
          ?? keys.repeatedKey(of: row.entity)
      else { return }
      let object = RowKeys.Target(entity: root(row.entity), key: key)
      if wanted.contains(object) { found[object] = item.line }
    }
    return found
  }
}
