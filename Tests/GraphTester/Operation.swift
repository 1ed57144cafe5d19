import CDModel

/// What a fetch asks for.
struct Query: Sendable {
  enum Form: String, Sendable, CaseIterable { case objects, identifiers, count }
  struct Sort: Sendable {
    var path: [String]
    /// An attribute, or a to-many relationship whose count sorts.
    var key: String
    var isCount = false
    var ascending = true

    var keyPath: String { (path + [key]).joined(separator: ".") + (isCount ? ".@count" : "") }
  }

  var entity: String
  var condition: Condition?
  var sort: [Sort] = []
  var limit: Int?
  var offset = 0
  var form = Form.objects
  var includesSubentities = true
}

/// Aggregates over an entity's objects.
struct Aggregation: Sendable {
  enum Kind: String, Sendable, CaseIterable { case count, sum, min, max }
  var entity: String
  var kind: Kind
  var attribute: String
  var groupBy: String?
  var condition: Condition?
}

/// A step of a program. Its operands are numbers and names, so that a program without some of its steps is still one:
/// what a step needs and what is not there makes it a step that does nothing.
enum Operation: Sendable {
  case makeContext(ContextNumber, parent: ContextNumber?, hasUndo: Bool, coordinator: Int)
  case discard(ContextNumber)
  case setPolicy(ContextNumber, World.Policy)
  case insert(ContextNumber, ObjectNumber, entity: String, values: [String: AttributeValue])
  case delete(ContextNumber, ObjectNumber)
  case set(ContextNumber, ObjectNumber, String, AttributeValue)
  case relate(ContextNumber, ObjectNumber, String, ObjectNumber?)
  case replace(ContextNumber, ObjectNumber, String, [ObjectNumber])
  case add(ContextNumber, ObjectNumber, String, ObjectNumber)
  case insertAt(ContextNumber, ObjectNumber, String, ObjectNumber, Int)
  case remove(ContextNumber, ObjectNumber, String, ObjectNumber)
  case fetch(ContextNumber, Query)
  case aggregate(ContextNumber, Aggregation)
  /// Compares the getters of some objects, without a fetch before.
  case look(ContextNumber, [ObjectNumber])
  /// Fetches and compares everything.
  case lookAtAll(ContextNumber)
  case save(ContextNumber)
  case rollback(ContextNumber)
  case undo(ContextNumber)
  case redo(ContextNumber)
  case beginGroup(ContextNumber)
  case endGroup(ContextNumber)
  case refresh(ContextNumber, ObjectNumber, merging: Bool)
  case refreshAll(ContextNumber)
  case reset(ContextNumber)
  case letGo(ContextNumber)
  case reopen
  case batchUpdate(ContextNumber, entity: String, Condition?, attribute: String, AttributeValue)
  case batchDelete(ContextNumber, entity: String, Condition?)
  case batchInsert(ContextNumber, ObjectNumber, entity: String, values: [String: AttributeValue])

  var context: ContextNumber? {
    switch self {
    case .makeContext(_, let parent, _, _): parent
    case .discard(let context), .setPolicy(let context, _), .insert(let context, _, _, _),
      .delete(let context, _),
      .set(let context, _, _, _), .relate(let context, _, _, _), .replace(let context, _, _, _),
      .add(let context, _, _, _), .insertAt(let context, _, _, _, _), .remove(let context, _, _, _),
      .fetch(let context, _), .aggregate(let context, _), .look(let context, _), .lookAtAll(let context),
      .save(let context), .rollback(let context), .undo(let context), .redo(let context),
      .beginGroup(let context),
      .endGroup(let context), .refresh(let context, _, _), .refreshAll(let context), .reset(let context),
      .letGo(let context), .batchUpdate(let context, _, _, _, _), .batchDelete(let context, _, _),
      .batchInsert(let context, _, _, _):
      context
    case .reopen: nil
    }
  }

  // MARK: - Swift

  /// The objects that a step names in its context, but for one that it makes.
  var objects: [ObjectNumber] {
    switch self {
    case .delete(_, let object), .set(_, let object, _, _), .refresh(_, let object, _): [object]
    case .relate(_, let object, _, let target): [object] + (target.map { [$0] } ?? [])
    case .replace(_, let object, _, let targets): [object] + targets
    case .add(_, let object, _, let target), .insertAt(_, let object, _, let target, _),
      .remove(_, let object, _, let target):
      [object, target]
    case .look(_, let objects): objects
    default: []
    }
  }

  /// The name of a context's instance of an object.
  static func name(_ object: ObjectNumber, _ context: ContextNumber) -> String {
    context == 0 ? "o\(object)" : "o\(object)in\(context)"
  }

  /// The step as lines of Swift.
  ///
  /// - Parameter slot: The number that generated code has for a relationship of an object.
  func swift(slot: (String, ObjectNumber) -> Int) -> String {
    switch self {
    case .makeContext(let context, let parent, let hasUndo, let coordinator):
      (parent.map { "let c\(context) = ManagedObjectContext(parent: c\($0))" }
        ?? "let c\(context) = container\(coordinator == 0 ? "" : "\(coordinator)").newContext()")
        + (hasUndo ? "\nc\(context).undoManager = ContextUndoManager()" : "")
    case .discard(let context): "// let go of c\(context)"
    case .setPolicy(let context, let policy): "c\(context).mergePolicy = .\(policy.rawValue)"
    case .insert(let context, let object, let entity, let values):
      (["let \(name(object, context)) = try c\(context).insert(entityNamed: \"\(entity)\")"]
        + values.sorted { $0.key < $1.key }.map {
          "try \(name(object, context)).setValue(.attribute(\(Literal.text($0.value))), forKey: \"\($0.key)\")"
        }).joined(separator: "\n")
    case .delete(let context, let object): "c\(context).delete(\(name(object, context)))"
    case .set(let context, let object, let key, let value):
      "try \(name(object, context)).setValue(.attribute(\(Literal.text(value))), forKey: \"\(key)\")"
    case .relate(let context, let object, let key, let target):
      "try \(name(object, context)).setValue(.object(\(target.map { name($0, context) } ?? "nil")), forKey: \"\(key)\")"
    case .replace(let context, let object, let key, let targets):
      "try \(name(object, context)).setValue("
        + ".objects([\(targets.map { name($0, context) }.joined(separator: ", "))]), forKey: \"\(key)\")"
    case .add(let context, let object, let key, let target):
      "\(name(object, context))._add(\(name(target, context)), \(slot(key, object)))  // \(key)"
    case .insertAt(let context, let object, let key, let target, let index):
      "\(name(object, context))._insert(\(name(target, context)), at: \(index), \(slot(key, object)))  // \(key)"
    case .remove(let context, let object, let key, let target):
      "\(name(object, context))._remove(\(name(target, context)), \(slot(key, object)))  // \(key)"
    case .fetch(let context, let query): Self.swift(of: query, context)
    case .aggregate(let context, let aggregation): "_ = try c\(context).aggregates(\(aggregation))"
    case .look(let context, let objects): "// compare the getters of \(objects.map { name($0, context) })"
    case .lookAtAll(let context): "// fetch and compare everything of c\(context)"
    case .save(let context): "try c\(context).save()"
    case .rollback(let context): "c\(context).rollback()"
    case .undo(let context): "c\(context).undo()"
    case .redo(let context): "c\(context).redo()"
    case .beginGroup(let context): "c\(context).undoManager?.beginUndoGrouping()"
    case .endGroup(let context): "c\(context).undoManager?.endUndoGrouping()"
    case .refresh(let context, let object, let merging):
      "c\(context).refresh(\(name(object, context)), mergeChanges: \(merging))"
    case .refreshAll(let context): "c\(context).refreshAllObjects()"
    case .reset(let context): "c\(context).reset()"
    case .letGo(let context): "// let go of all objects of c\(context)"
    case .reopen: "// open the store anew, with a new context c0"
    case .batchUpdate(let context, let entity, let condition, let attribute, let value):
      "try c\(context).execute(BatchUpdateRequest<ManagedObject>(FetchRequest(entityName: \"\(entity)\""
        + Self.predicate(condition, context)
        + "), set: [.set(\"\(attribute)\", to: .attribute(\(Literal.text(value))))]))"
    case .batchDelete(let context, let entity, let condition):
      "try c\(context).execute(BatchDeleteRequest<ManagedObject>(FetchRequest(entityName: \"\(entity)\""
        + Self.predicate(condition, context) + ")))"
    case .batchInsert(let context, let object, let entity, let values):
      "try c\(context).execute(BatchInsertRequest<ManagedObject>(entityName: \"\(entity)\", rows: [["
        + values.sorted { $0.key < $1.key }.map { "\"\($0.key)\": .attribute(\(Literal.text($0.value)))" }
        .joined(separator: ", ") + "]]))  // o\(object)"
    }
  }

  private func name(_ object: ObjectNumber, _ context: ContextNumber) -> String { Self.name(object, context) }

  private static func predicate(_ condition: Condition?, _ context: ContextNumber) -> String {
    guard let condition else { return "" }
    var arguments: [Condition.Argument] = []
    let format = condition.format(&arguments)
    let list = arguments.map { argument in
      switch argument {
      case .value(let value): ", AttributeValue\(Literal.text(value))"
      case .object(let number): ", o\(number).objectID"
      }
    }
    return ", where: try FetchPredicate(format: \"\(format)\"\(list.joined()))"
  }

  private static func swift(of query: Query, _ context: ContextNumber) -> String {
    var lines = [
      "var request = FetchRequest<ManagedObject>(entityName: \"\(query.entity)\"\(predicate(query.condition, context)))"
    ]
    if !query.sort.isEmpty {
      let keys = query.sort.map { "SortKey(\"\($0.keyPath)\", ascending: \($0.ascending))" }
      lines.append("request.sortKeys = [\(keys.joined(separator: ", "))]")
    }
    if let limit = query.limit { lines.append("request.limit = \(limit)") }
    if query.offset > 0 { lines.append("request.offset = \(query.offset)") }
    if !query.includesSubentities { lines.append("request.includesSubentities = false") }
    switch query.form {
    case .objects: lines.append("print(try c\(context).fetch(request).map(\\.objectID))")
    case .identifiers: lines.append("print(try c\(context).objectIDs(for: request))")
    case .count: lines.append("print(try c\(context).count(for: request))")
    }
    return lines.joined(separator: "\n")
  }
}
