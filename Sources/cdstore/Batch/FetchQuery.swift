import CDConsole
import CDModel
import CDRuntime
import Foundation

/// One fetch from the command line or from a line of a batch.
struct FetchQuery {
  var entity: String
  var format: String?
  var arguments: [JSONValue] = []
  var variables: [JSONValue.Member] = []
  var sort: [SortKey] = []
  var limit: Int?
  var offset = 0
  /// Whether the predicate is evaluated in memory, over all objects of the entity.
  var isInMemory = false
  var idAttribute: String?

  /// Reads sort keys. `-dueDate` is in descending order, and `name[cd]` ignores case and diacritics.
  static func sortKeys(_ texts: [String]) -> [SortKey] {
    texts.map { text in
      let isDescending = text.hasPrefix("-")
      var path = isDescending ? text.dropFirst() : text[...]
      var options: ComparisonOptions = []
      if path.last == "]", let bracket = path.lastIndex(of: "[") {
        let letters = path[path.index(after: bracket)...].dropLast()
        let isOptions = !letters.isEmpty && letters.lowercased().allSatisfy { "cdnl".contains($0) }
        if isOptions {
          options = ComparisonOptions(letters: String(letters))
          path = path[..<bracket]
        }
      }
      return SortKey(String(path), ascending: !isDescending, options: options)
    }
  }

  init(entity: String) { self.entity = entity }

  /// The members of a request. The command itself reads `rows`.
  private static let keys = [
    "entity", "where", "args", "variables", "sort", "limit", "offset", "evaluator", "rows",
  ]

  /// - Throws: ``Failure`` if a member has a wrong type, or is unknown. Without a misspelt `where`, the answer would be all
  ///   objects.
  init(_ json: JSONValue, idAttribute: String?) throws {
    guard case .object(let members) = json else {
      throw Failure("a request is an object, not \(json.kindName)")
    }
    if let unknown = members.first(where: { !Self.keys.contains($0.key) }) {
      let meant = closestName(to: unknown.key, in: Self.keys).map { "; did you mean '\($0)'?" } ?? ""
      throw Failure("a request has no '\(unknown.key)'\(meant)")
    }
    let request = RequestJSON(json: json)
    guard let entity = try request.text("entity") else { throw Failure("'entity' is missing") }
    self.init(entity: entity)
    self.idAttribute = idAttribute
    format = try request.text("where")
    arguments = try request.list("args")
    variables = try request.object("variables")
    switch json["sort"] {
    case .string(let text)?: sort = Self.sortKeys(text.split(separator: ",").map(String.init))
    default:
      sort = Self.sortKeys(
        try request.list("sort").map { key in
          guard case .string(let text) = key else { throw Failure("'sort' takes keys, not \(key.kindName)") }
          return text
        })
    }
    limit = try request.number("limit")
    offset = try request.number("offset") ?? 0
    switch try request.text("evaluator") {
    case nil, "store"?: isInMemory = false
    case "memory"?: isInMemory = true
    case let other?: throw Failure("there is no evaluator '\(other)'; there are store and memory")
    }
  }

  /// - Throws: ``RequestError``.
  func run(in context: ManagedObjectContext) throws -> [ManagedObject] {
    do {
      return isInMemory ? try inMemory(context) : try context.fetch(request(context))
    } catch {
      throw RequestError(error, format: format ?? "")
    }
  }

  /// Runs the query and passes each object to the body. Objects from the store are read in batches and are released as
  /// early as possible.
  ///
  /// - Parameter begin: Called once, after the query has succeeded and before the first object.
  /// - Throws: ``RequestError``, and errors of the bodies.
  func forEach(
    in context: ManagedObjectContext, begin: () throws -> Void = {}, _ body: (ManagedObject) throws -> Void
  ) throws {
    if isInMemory {
      let objects = try run(in: context)
      try begin()
      return try context.forEach(objects, body)
    }
    let results: LazyFetchResults<ManagedObject>
    do {
      var request = try request(context)
      request.batchSize = 500
      results = try context.lazyFetch(request)
    } catch {
      throw RequestError(error, format: format ?? "")
    }
    try begin()
    try context.forEach(results, body)
  }

  func count(in context: ManagedObjectContext) throws -> Int {
    do {
      return isInMemory ? try inMemory(context).count : try context.count(for: request(context))
    } catch {
      throw RequestError(error, format: format ?? "")
    }
  }

  private func request(_ context: ManagedObjectContext) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entity, where: try predicate(context))
    let tagged = values(context)
    for variable in variables { request.variables[variable.key] = try tagged.constant(variable.value) }
    request.sortKeys = sort
    request.limit = limit
    request.offset = offset
    return request
  }

  private func predicate(_ context: ManagedObjectContext) throws -> FetchPredicate? {
    guard let format else { return nil }
    let tagged = values(context)
    return try FetchPredicate(format: format, arguments: try arguments.map { try tagged.constant($0) })
  }

  /// Resolves a `$ref`: by the attribute for identifiers, or as an object's URI.
  private func values(_ context: ManagedObjectContext) -> TaggedValue {
    TaggedValue { text in
      let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
      if !text.hasPrefix("cdgen://"), let idAttribute, parts.count == 2,
        let object = try context.object(forEntityNamed: parts[0], matching: [idAttribute: parts[1]])
      {
        return ObjectReference(entity: object.entity.name, uri: object.objectID.description)
      }
      if let id = URL(string: text).flatMap(ManagedObjectID.init(uri:)) {
        return ObjectReference(entity: id.entityName, uri: text)
      }
      return ObjectReference(entity: parts.first ?? "", uri: text)
    }
  }

  /// Gives the same result with the evaluator alone, without SQL.
  private func inMemory(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    var all = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    let checker = ExpressionChecker(
      graph: EntityGraph(
        context.persistentStoreCoordinator.managedObjectModel.currentVersion
          ?? ModelVersion(number: 0, entities: [])))
    var bound: [String: EvaluationValue] = [:]
    let tagged = values(context)
    for variable in variables { bound[variable.key] = EvaluationValue(try tagged.constant(variable.value)) }
    let evaluator = PredicateEvaluator(variables: bound, model: context.model)
    if let predicate = try predicate(context) {
      let checked = checker.check(predicate, on: entity)
      let errors = checked.diagnostics.filter { $0.severity == .error }
      guard errors.isEmpty else { throw FetchError.invalid(entity: entity, errors) }
      if let missing = checked.variables.first(where: { bound[$0.name] == nil }) {
        throw FetchError.missingVariable(missing.name)
      }
      all = try all.filter { try evaluator.matches(checked.predicate, $0) }
    }
    let rest = try evaluator.sorted(all, by: sort).dropFirst(max(0, offset))
    return Array(limit.map { rest.prefix(max(0, $0)) } ?? rest)
  }
}
