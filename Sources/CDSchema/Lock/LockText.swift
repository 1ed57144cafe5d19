import CDModel

/// The text of `versions.lock`.
///
/// Each version is a separate block of lines, and no line depends on two versions. So after a merge of two branches,
/// the blocks of both can be kept in any order.
public enum LockText {
  /// The file's name in a model's folder.
  public static let fileName = "versions.lock"

  /// The version of the file's format.
  static let formatVersion = 1

  private static let head = """
    # The released versions of this model. Stores of them exist, so their files never change.
    # 'cdgen lock' adds a version. After a merge keep the versions of both sides. To take back a lock that was
    # a mistake, before the version was released, remove its block.
    lock \(formatVersion)

    """

  /// The text of the file for the given versions, in order of their numbers.
  public static func text(of versions: [LockedVersion]) -> String {
    versions.sorted { $0.number < $1.number }.reduce(head) { $0 + "\n" + block($1) }
  }

  private static func block(_ version: LockedVersion) -> String {
    var lines = [
      "version \(version.number)", "  data \(version.data)", "  layout \(version.layout)",
      "  definition \(version.definition)",
    ]
    for element in sorted(Array(version.elements.keys)) {
      guard let digits = version.elements[element] else { continue }
      let (word, name) = words(of: element)
      lines.append("  \(word) \(name.isEmpty ? "" : name + " ")\(digits)")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: Elements

  /// The elements in the order of the file: the version's bases, its types, and then each entity with its parts.
  static func sorted(_ elements: [ModelElement]) -> [ModelElement] {
    func key(_ element: ModelElement) -> (Int, String, Int, String) {
      let name = words(of: element).name
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      let (first, second) = (parts.first ?? "", parts.count > 1 ? parts[1] : "")
      switch element {
      case .bases: return (0, "", 0, "")
      case .enumeration: return (1, first, 0, "")
      case .composite: return (2, first, 0, "")
      case .field: return (2, first, 1, second)
      case .configuration: return (3, name, 0, "")
      case .entity: return (4, first, 0, "")
      case .attribute: return (4, first, 1, second)
      case .relationship: return (4, first, 2, second)
      case .fetchedProperty: return (4, first, 3, second)
      case .fetchTemplate: return (4, first, 4, second)
      case .indexes: return (4, first, 5, "")
      case .uniquenessConstraints: return (4, first, 6, "")
      }
    }
    return elements.map { (key($0), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
  }

  private static func words(of element: ModelElement) -> (word: String, name: String) {
    switch element {
    case .bases: ("basedOn", "")
    case .enumeration(let name): ("enum", name)
    case .composite(let name): ("composite", name)
    case .field(let composite, let name): ("field", "\(composite).\(name)")
    case .configuration(let name): ("configuration", name)
    case .entity(let name): ("entity", name)
    case .attribute(let name): ("attribute", "\(name.entity).\(name.name)")
    case .relationship(let name): ("relationship", "\(name.entity).\(name.name)")
    case .fetchedProperty(let name): ("fetched", "\(name.entity).\(name.name)")
    case .fetchTemplate(let entity, let name): ("fetch", "\(entity).\(name)")
    case .indexes(let entity): ("indexes", entity)
    case .uniquenessConstraints(let entity): ("unique", entity)
    }
  }

  /// The element that a line of the file describes; nil if the word or the form of the name is wrong.
  static func element(_ word: String, _ name: String) -> ModelElement? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    switch (word, parts.count) {
    case ("basedOn", 1) where name.isEmpty: return .bases
    // The name of a configuration may contain dots.
    case ("configuration", _): return name.isEmpty ? nil : .configuration(name)
    case (_, _) where parts.contains(""): return nil
    case ("enum", 1): return .enumeration(name)
    case ("composite", 1): return .composite(name)
    case ("entity", 1): return .entity(name)
    case ("indexes", 1): return .indexes(entity: name)
    case ("unique", 1): return .uniquenessConstraints(entity: name)
    case ("field", 2): return .field(composite: parts[0], name: parts[1])
    case ("attribute", 2): return .attribute(entity: parts[0], name: parts[1])
    case ("relationship", 2): return .relationship(entity: parts[0], name: parts[1])
    case ("fetched", 2): return .fetchedProperty(entity: parts[0], name: parts[1])
    case ("fetch", 2): return .fetchTemplate(entity: parts[0], name: parts[1])
    default: return nil
    }
  }
}
