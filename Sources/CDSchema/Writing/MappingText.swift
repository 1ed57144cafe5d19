public import CDModel

/// Writes the rules of a step in the language of mapping files. Reading the text gives the same rules, but rules for
/// the same entity are grouped.
public struct MappingText {
  /// The comment at the top of the file.
  public var head: String?
  /// The comments above the rules of entities, by the entity's name. The comment above the dropped entities has the key
  /// "".
  public var comments: [String: String]

  private let rules: MappingRules

  /// Creates the text of a step's rules.
  public init(_ rules: MappingRules, head: String? = nil, comments: [String: String] = [:]) {
    self.rules = rules
    self.head = head
    self.comments = comments
  }

  /// The file's contents.
  public var text: String {
    var result = YAMLText()
    if let head { result.write(comment: head) }
    var pairs = PairList()
    pairs.add("entities", entities, .lines)
    if !rules.drops.isEmpty {
      pairs.list.append(YAMLPair("drop", .list(rules.drops.map { .text($0) }), comment: comments[""]))
    }
    pairs.add("onDuplicate", duplicates, .short)
    result.write(pairs.list, depth: 0)
    return result.text
  }

  private var entities: [YAMLPair] {
    var names: [String] = []
    for rule in rules.entities where !names.contains(rule.destination) { names.append(rule.destination) }
    return names.map { name in
      let all = rules.entities.filter { $0.destination == name }.map(mapping)
      return YAMLPair(name, all.count == 1 ? all[0] : .list(all), comment: comments[name])
    }
  }

  private func mapping(_ rule: EntityRule) -> YAMLValue {
    var pairs = PairList()
    pairs.add("from", rule.source)
    pairs.add("name", rule.name)
    if rule.isCustom { pairs.add("policy", "custom") }
    pairs.add("where", rule.filter?.canonicalText)
    if rule.owned != .drop { pairs.add("owned", rule.owned.rawValue) }
    pairs.add("attributes", rule.attributes.map { YAMLPair($0.name, .text($0.value.canonicalText)) }, .short)
    pairs.add(
      "relationships", rule.relationships.map { YAMLPair($0.name, .text($0.value.canonicalText)) }, .short)
    pairs.add("drop", rule.drops.isEmpty ? nil : .list(rule.drops.map { .text($0) }))
    pairs.add("undecided", rule.undecided.map { YAMLPair($0.name, .text($0.note)) }, .short)
    return .mapping(pairs.list, .short)
  }

  private var duplicates: [YAMLPair] {
    var names: [String] = []
    for rule in rules.duplicates where !names.contains(rule.entity) { names.append(rule.entity) }
    return names.map { name in
      YAMLPair(
        name,
        .mapping(
          rules.duplicates.filter { $0.entity == name }.map {
            YAMLPair($0.properties.joined(separator: ", "), .text($0.survivor.rawValue))
          }, .short))
    }
  }
}
