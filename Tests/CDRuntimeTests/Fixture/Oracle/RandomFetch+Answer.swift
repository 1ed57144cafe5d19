import CDRuntime

extension RandomFetch {
  var entityName: String { ["Node", "Leaf", "Twig"][entity] }

  private var format: String? {
    switch condition {
    case .all: nil
    case .named: "name == \"\(Self.names[value])\""
    case .unnamed: "name == nil"
    case .ranked: "rank > \(value)"
    case .unowned: "owner == nil"
    case .ownedByName: "owner.name == \"\(Self.names[value])\""
    case .hasChildren: "children.@count > \(value % 2)"
    case .ranksBelow: "ANY children.rank > \(value)"
    case .inGroups: "groups.@count > \(value % 2)"
    case .parentRanked: "parent.rank <= \(value)"
    }
  }

  static let names = ["a", "b", "c", "d"]

  func request() throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    request.predicate = try format.map { try FetchPredicate(format: $0) }
    if sorts { request.sortKeys = [SortKey("rank", ascending: isAscending)] }
    request.limit = limit
    request.offset = offset
    request.includesSubentities = includesSubentities
    return request
  }

  /// The numbers of the objects that the fetch gives.
  func answer(in graph: OracleGraph) -> [Int] {
    var found = graph.live(entityName).filter { number in
      (includesSubentities || graph.rows[number]?.entity == entityName) && matches(number, graph)
    }
    func key(_ number: Int) -> Int64 { graph.rows[number]?.key ?? 0 }
    found.sort { key($0) < key($1) }
    if sorts {
      found.sort { left, right in
        let (first, second) = (rank(left, graph), rank(right, graph))
        if first == second { return key(left) < key(right) }
        guard let first else { return isAscending }
        guard let second else { return !isAscending }
        return isAscending ? first < second : first > second
      }
    }
    let rest = found.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  private func rank(_ number: Int, _ graph: OracleGraph) -> Int64? {
    if case .int(let rank)? = graph.rows[number]?.attributes["rank"] { return rank }
    return nil
  }

  private func matches(_ number: Int, _ graph: OracleGraph) -> Bool {
    func related(_ name: String) -> [Int] {
      graph.model.relation(name, of: "Node").map { graph.related(number, $0) } ?? []
    }
    func name(_ number: Int) -> AttributeValue? { graph.rows[number]?.attributes["name"] }
    let least = Int64(value)
    return switch condition {
    case .all: true
    case .named: name(number) == .string(Self.names[value])
    case .unnamed: name(number) == nil
    case .ranked: rank(number, graph).map { $0 > least } ?? false
    case .unowned: related("owner").isEmpty
    case .ownedByName: related("owner").contains { name($0) == .string(Self.names[value]) }
    case .hasChildren: related("children").count > value % 2
    case .ranksBelow: related("children").contains { rank($0, graph).map { $0 > least } ?? false }
    case .inGroups: related("groups").count > value % 2
    case .parentRanked: related("parent").contains { rank($0, graph).map { $0 <= least } ?? false }
    }
  }
}
