/// A value to be written as YAML, as a person would: on one line if it fits, otherwise on several.
indirect enum YAMLValue {
  /// A text, in quotes if YAML requires them.
  case text(String)
  case list([YAMLValue])
  case mapping([YAMLPair], YAMLLayout)
}

/// A key with its value, and the comment above it.
struct YAMLPair {
  var key: String
  var value: YAMLValue
  var comment: String?

  init(_ key: String, _ value: YAMLValue, comment: String? = nil) {
    self.key = key
    self.value = value
    self.comment = comment
  }
}

/// How a mapping is laid out.
enum YAMLLayout {
  /// In braces, if it fits on the line.
  case short
  /// One line per key.
  case lines
}

/// Writes ``YAMLValue``s as text.
struct YAMLText {
  /// The maximum width of a line, if the line can be broken.
  private static let width = 110

  private(set) var text = ""

  /// Writes the lines of a mapping's pairs.
  mutating func write(_ pairs: [YAMLPair], depth: Int) {
    let indentation = String(repeating: "  ", count: depth)
    for pair in pairs {
      for line in pair.comment?.split(separator: "\n", omittingEmptySubsequences: false) ?? [] {
        text += indentation + (line.isEmpty ? "#" : "# \(line)") + "\n"
      }
      let key = YAMLScalar.text(pair.key, isInFlow: false)
      let head = "\(indentation)\(key):"
      if let line = Self.flow(pair.value, isNested: false), head.count + 1 + line.count <= Self.width {
        text += "\(head) \(line)\n"
      } else {
        write(pair.value, head: head, depth: depth)
      }
    }
  }

  mutating func write(comment: String) {
    for line in comment.split(separator: "\n", omittingEmptySubsequences: false) {
      text += line.isEmpty ? "#\n" : "# \(line)\n"
    }
  }

  private mutating func write(_ value: YAMLValue, head: String, depth: Int) {
    let indentation = String(repeating: "  ", count: depth + 1)
    switch value {
    case .text(let string):
      if let lines = YAMLScalar.folded(string, width: Self.width - indentation.count) {
        text += "\(head) >-\n"
        for line in lines { text += indentation + line + "\n" }
      } else {
        text += "\(head) \(YAMLScalar.text(string, isInFlow: false))\n"
      }
    case .list(let values):
      text += head + "\n"
      for value in values { text += "\(indentation)- \(Self.flow(value, isNested: true) ?? "")\n" }
    case .mapping(let pairs, _) where pairs.isEmpty: text += "\(head) {}\n"
    case .mapping(let pairs, _):
      text += head + "\n"
      write(pairs, depth: depth + 1)
    }
  }

  /// A value on one line; nil if it needs several lines.
  private static func flow(_ value: YAMLValue, isNested: Bool) -> String? {
    switch value {
    case .text(let string): return YAMLScalar.text(string, isInFlow: isNested)
    case .list(let values):
      let texts = values.compactMap { flow($0, isNested: true) }
      return texts.count == values.count ? "[\(texts.joined(separator: ", "))]" : nil
    case .mapping(let pairs, let layout):
      if pairs.isEmpty { return "{}" }
      guard case .short = layout else { return nil }
      var texts: [String] = []
      for pair in pairs {
        guard pair.comment == nil, let value = flow(pair.value, isNested: true) else { return nil }
        texts.append("\(YAMLScalar.text(pair.key, isInFlow: true)): \(value)")
      }
      return "{ \(texts.joined(separator: ", ")) }"
    }
  }
}
