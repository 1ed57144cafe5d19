import CDModel

extension DecodingContext {
  /// Reads a predicate. A mistake is reported at its exact position.
  func predicate(_ node: MarkedNode) -> FetchPredicate? {
    guard let text = text(of: node, as: "the predicate"), !reportsSwallowedComment(node) else { return nil }
    do {
      return try FetchPredicate(format: text)
    } catch {
      report(error, in: node)
      return nil
    }
  }

  /// Reads an expression. A mistake is reported at its exact position.
  func valueExpression(_ node: MarkedNode) -> ValueExpression? {
    guard let text = text(of: node, as: "the expression"), !reportsSwallowedComment(node) else { return nil }
    do {
      return try ValueExpression(format: text)
    } catch {
      report(error, in: node)
      return nil
    }
  }

  private func report(_ error: FormatError, in node: MarkedNode) {
    diagnostics.error(
      source.location(in: node, utf8Offset: error.utf8Offset),
      error.message + (commentRemark(node) ?? ""))
  }

  /// Reads the elements of `sort` or of an index: key paths, with a `-` for descending order.
  func sortKeys(_ reader: MappingReader, _ key: String) -> [SortKey] {
    guard let elements = reader.list(key, of: "key paths such as [name, -dueDate]") else { return [] }
    return sortKeys(elements, of: reader.element, prefix: key)
  }

  /// - Parameter prefix: The key under which the positions of the elements are recorded.
  func sortKeys(_ elements: [MarkedNode], of element: SchemaElement, prefix: String) -> [SortKey] {
    var keys: [SortKey] = []
    for node in elements {
      guard let text = text(of: node, as: "a key path") else {
        broken.insert(element)
        continue
      }
      positions.record(node, as: "\(prefix)[\(keys.count)]", of: element)
      let isDescending = text.hasPrefix("-")
      keys.append(SortKey(isDescending ? String(text.dropFirst()) : text, ascending: !isDescending))
    }
    return keys
  }
}
