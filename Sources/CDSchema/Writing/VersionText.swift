public import CDModel

/// Writes versions in the schema language as a person would, without default values.
///
/// Reading the text gives the same version. This holds for every version that can be read from a file. A version with
/// an impossible element, such as a property without a type, has no valid text.
public struct VersionText {
  /// The comments above elements, by element. Only entities and their properties can have comments.
  package var comments: [SchemaElement: String]
  /// The comment at the top of the file.
  public var head: String?

  let version: ModelVersion

  /// Creates the text of a version.
  public init(_ version: ModelVersion, head: String? = nil) {
    self.init(version, head: head, comments: [:])
  }

  /// Creates the text of a version with comments above its elements.
  package init(_ version: ModelVersion, head: String? = nil, comments: [SchemaElement: String]) {
    self.version = version
    self.head = head
    self.comments = comments
  }

  /// The file's contents.
  public var text: String {
    var result = YAMLText()
    if let head { result.write(comment: head) }
    result.write(pairs, depth: 0)
    return result.text
  }

  private var pairs: [YAMLPair] {
    var pairs = PairList()
    pairs.add("label", version.label)
    if version.basedOn != VersionText.defaultBases(of: version.number) {
      pairs.add(
        "basedOn",
        version.basedOn.count == 1
          ? .text(String(version.basedOn[0])) : .list(version.basedOn.map { .text(String($0)) }))
    }
    pairs.add("enums", version.enums.map { YAMLPair($0.name, enumeration($0)) }, .lines)
    pairs.add("composites", version.composites.map { YAMLPair($0.name, composite($0)) }, .lines)
    pairs.list.append(
      YAMLPair(
        "entities",
        .mapping(
          version.entities.map {
            YAMLPair($0.name, entity($0), comment: comments[.part(.entity($0.name), version: version.number)])
          }, .lines)))
    pairs.add(
      "configurations",
      version.configurations.map { YAMLPair($0.name, .list($0.entities.map { .text($0) })) }, .lines)
    pairs.add("info", version.info)
    return pairs.list
  }

  /// The bases of a version whose file does not declare them.
  private static func defaultBases(of number: Int) -> [Int] { number > 1 ? [number - 1] : [] }

  private func enumeration(_ description: EnumDescription) -> YAMLValue {
    var pairs = PairList()
    pairs.add("type", description.rawType.schemaName)
    let isNamed =
      description.rawType == .string && description.cases.allSatisfy { $0.rawValue == .string($0.name) }
    pairs.add(
      "cases",
      isNamed
        ? .list(description.cases.map { .text($0.name) })
        : .mapping(
          description.cases.map { YAMLPair($0.name, value($0.rawValue, of: description.rawType)) }, .short))
    pairs.add("doc", description.doc)
    return .mapping(pairs.list, .short)
  }

  private func composite(_ description: CompositeDescription) -> YAMLValue {
    let fields = YAMLValue.mapping(
      description.fields.map { YAMLPair($0.name, attribute($0)) }, .short)
    guard let doc = description.doc else { return fields }
    return .mapping([YAMLPair("doc", .text(doc)), YAMLPair("fields", fields)], .short)
  }
}

/// A list of pairs in the order in which they are added. Missing values are left out.
struct PairList {
  var list: [YAMLPair] = []

  mutating func add(_ key: String, _ text: String?) {
    if let text { list.append(YAMLPair(key, .text(text))) }
  }

  mutating func add(_ key: String, _ number: Int?) { add(key, number.map(String.init)) }

  mutating func add(_ key: String, flag: Bool) {
    if flag { add(key, "true") }
  }

  mutating func add(_ key: String, _ value: YAMLValue?) {
    if let value { list.append(YAMLPair(key, value)) }
  }

  mutating func add(_ key: String, _ pairs: [YAMLPair], _ layout: YAMLLayout) {
    if !pairs.isEmpty { list.append(YAMLPair(key, .mapping(pairs, layout))) }
  }

  /// Adds free keys and texts, in the order of the keys.
  mutating func add(_ key: String, _ info: [String: String]) {
    let sorted = info.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    add(key, sorted.map { YAMLPair($0.key, .text($0.value)) }, .short)
  }
}
