import ArgumentParser
import CDConsole
import CDModel
import CDRuntime
import Foundation

/// `cdstore fetch`
struct Fetch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the objects of an entity.",
    discussion: """
      With --batch, each line of standard input is a request, {"entity", "where", "args", "variables", "sort", \
      "limit", "offset", "evaluator", "rows"}. Each line of the output is the answer to a request: {"ids": […]}, \
      with "rows" if the request asks for them, or {"error", "stage", "position"}. \
      The position counts UTF-16 units of the condition from 0.

      A value that cannot be read is printed as the empty value of its type, such as 0. An error names it, and the exit \
      status is 1.

        cdstore fetch Notes.sqlite Note --where "written > %@" --args '[{"$date": 1700000000}]'
        cdstore fetch Notes.sqlite Note --sort title,-written --limit 10 --format json
        cdstore fetch Notes.sqlite --batch < requests.jsonl
      """)

  enum Format: String, CaseIterable, ExpressibleByArgument { case table, json, csv }
  enum Evaluator: String, CaseIterable, ExpressibleByArgument { case store, memory }

  @Argument(help: ArgumentHelp(StoreName.help), completion: .file())
  var store: String

  @Argument(help: "The entity. The objects of its subentities are included.")
  var entity: String?

  @Option(name: .customLong("where"), parsing: .unconditional, help: "The condition, as a format string.")
  var condition: String?

  @Option(help: "The values of %@ and %K in the condition, as a JSON list.")
  var args: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The keys to sort by, the most important one first. Write -key for descending order, and key[cd] to ignore case "
        + "and diacritics."))
  var sort: String?

  @Option(help: "The maximum number of objects to print.")
  var limit: Int?

  @Option(help: "The number of objects to skip at the beginning.")
  var offset = 0

  @Flag(help: "Print only the number of objects.")
  var count = false

  @Option(help: "The format of the output.")
  var format: Format = .table

  @Option(
    help: "Whether the store or the evaluator in memory selects the objects. Both give the same result.")
  var evaluator: Evaluator = .store

  @Option(help: "A String attribute to print as the \"@id\" of each row.")
  var id: String?

  @Flag(help: "Answer requests from standard input, one in each line.")
  var batch = false

  @Option(
    help: "The folder or the file of the model. The default is the model in the store.",
    completion: .directory)
  var model: String?

  @Option(help: "The number of the version of a Core Data store, if its tables do not determine it.")
  var version: Int?

  func validate() throws {
    if batch == (entity != nil) {
      throw ValidationError(batch ? "with --batch, requests name their entities" : "an entity is missing")
    }
    if let limit, limit < 0 { throw ValidationError("--limit is 0 at least") }
    if offset < 0 { throw ValidationError("--offset is 0 at least") }
  }

  func run() throws {
    let container = try ModelSource.open(store, model: model, version: version, isReadOnly: true)
    let context = container.newContext()
    guard let version = container.persistentStoreCoordinator.managedObjectModel.currentVersion else { return }
    let graph = EntityGraph(version)
    try checkID(graph)
    let rows = RowJSON(graph, idAttribute: id)
    if let entity {
      try print(query(entity), entity, context, rows)
    } else {
      try answer(context, rows)
    }
    try report(context.recentErrors)
  }

  /// Prints the errors of values that could not be read. Their rows have made-up values.
  private func report(_ errors: [ObservedError]) throws {
    if errors.isEmpty { return }
    var reported: Set<ObservedError> = []
    for error in errors where reported.insert(error).inserted {
      Lines.error("error: \(StoreFinding.unreadable(error))")
    }
    throw ExitCode.failure
  }

  /// Refuses an `--id` that `cdstore load` would refuse for the printed rows.
  private func checkID(_ graph: EntityGraph) throws {
    guard let id else { return }
    // An unknown entity is an error of the fetch.
    if let entity, graph.entity(entity) == nil { return }
    let entities = graph.version.entities.filter { each in
      entity.map { graph.isKind(each.name, of: $0) } ?? true
    }
    for each in entities {
      if case .attribute(let attribute)? = graph.property(id, of: each.name), attribute.type == .string {
        return
      }
    }
    let subject = entity.map { "the entity '\($0)'" } ?? "none of the entities"
    throw Failure("\(subject) has \(entity == nil ? "a" : "no") String attribute '\(id)' for --id")
  }

  private func query(_ entity: String) throws -> FetchQuery {
    var query = FetchQuery(entity: entity)
    query.format = condition
    if let args {
      guard case .array(let list)? = try? JSONValue(parsing: args) else {
        throw ValidationError("--args takes a list of JSON")
      }
      query.arguments = list
    }
    query.sort = FetchQuery.sortKeys((sort ?? "").split(separator: ",").map(String.init))
    query.limit = limit
    query.offset = offset
    query.isInMemory = evaluator == .memory
    query.idAttribute = id
    return query
  }

  private func print(
    _ query: FetchQuery, _ entity: String, _ context: ManagedObjectContext, _ rows: RowJSON
  ) throws {
    try context.perform {
      if count { return try Lines.write("\(try query.count(in: context))") }
      var output = BufferedOutput()
      do {
        try print(query, entity, context, rows, &output)
      } catch {
        // If a row fails, the rows before it are written, so that the output shows how far the answer got.
        try? output.flush()
        throw error
      }
      try output.flush()
    }
  }

  private func print(
    _ query: FetchQuery, _ entity: String, _ context: ManagedObjectContext, _ rows: RowJSON,
    _ output: inout BufferedOutput
  ) throws {
    switch format {
    case .table:
      // The widths of the columns are known only at the end.
      var cells: [[String]] = []
      try query.forEach(in: context) { cells.append(try rows.cells($0, of: entity)) }
      try output.write(Lines.table(rows.header(entity), cells))
    case .csv:
      try query.forEach(
        in: context, begin: { try output.write(Lines.csv(rows.header(entity))) },
        { object in try output.write(Lines.csv(try rows.cells(object, of: entity))) })
    case .json:
      var last: String?
      try query.forEach(
        in: context, begin: { try output.write("[") },
        { object in
          let row = try rows.row(object).canonicalText
          if let last { try output.write(last + ",") }
          last = row
        })
      if let last { try output.write(last) }
      try output.write("]")
    }
  }

  private func answer(_ context: ManagedObjectContext, _ rows: RowJSON) throws {
    var lines = InputLines()
    while let line = try lines.next() {
      var format = ""
      let answer: JSONValue
      do {
        let json = try JSONValue(parsing: line.content)
        let query = try FetchQuery(json, idAttribute: id)
        format = query.format ?? ""
        let isWhole = try RequestJSON(json: json).flag("rows")
        answer = try context.perform {
          let objects = try query.run(in: context)
          var members = [JSONValue.Member("ids", .array(objects.map { .string(rows.id($0)) }))]
          if isWhole {
            var list: [JSONValue] = []
            try context.forEach(objects) { list.append(try rows.row($0)) }
            members.append(JSONValue.Member("rows", .array(list)))
          }
          return JSONValue.object(members)
        }
      } catch {
        answer = RequestError(error, format: format).json
      }
      try Lines.write(answer.canonicalText)
    }
  }
}
