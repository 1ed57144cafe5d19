import CDModel

/// The methods that `FUNCTION(target, 'selector', …)` may call. They are some methods of Apple's strings, dates and
/// collections that return a result and have no side effects. All other methods are refused, so that no text can make a
/// program do something unintended.
enum Invocation {
  static func call(
    _ selector: String, of target: EvaluationValue, _ arguments: [EvaluationValue]
  ) throws(EvaluationError) -> EvaluationValue {
    if target.isNull { return .null }
    let wanted = selector.utf8.count { $0 == UInt8(ascii: ":") }
    guard arguments.count == wanted else { throw .wrongArguments(function: selector, count: arguments.count) }
    let result: EvaluationValue? =
      switch target {
      case .value(.string(let text)): string(selector, text, arguments)
      case .value(.date(let date)): self.date(selector, .value(.date(date)), arguments)
      case .collection(let elements): try collection(selector, elements, arguments)
      case .subject, .dictionary: try object(selector, target, arguments)
      default: nil
      }
    if let result { return result }
    if arguments.isEmpty, let result = ValueKeys.value(forKey: selector, of: target) { return result }
    throw .unsupported("FUNCTION with the method '\(selector)' of \(target.kindName)")
  }

  private static func string(
    _ selector: String, _ text: String, _ arguments: [EvaluationValue]
  ) -> EvaluationValue? {
    let texts = arguments.compactMap { argument -> String? in
      if case .value(.string(let text)) = argument { return text }
      return nil
    }
    let numbers = arguments.compactMap { argument -> Int64? in
      if case .int(let number) = Number(argument) { return number }
      return nil
    }
    if texts.count == arguments.count {
      switch selector {
      case "stringByDeletingLastPathComponent": return .string(PathText.withoutLastComponent(text))
      case "stringByDeletingPathExtension": return .string(PathText.withoutExtension(text))
      case "stringByAppendingString:": return .string(text + texts[0])
      case "stringByAppendingPathComponent:":
        return .string(PathText.appending(component: texts[0], to: text))
      case "stringByAppendingPathExtension:":
        return .string(PathText.appending(extension: texts[0], to: text))
      case "stringByReplacingOccurrencesOfString:withString:":
        return .string(PathText.replacing(texts[0], with: texts[1], in: text))
      case "componentsSeparatedByString:":
        return .collection(PathText.components(text, separatedBy: texts[0]).map(EvaluationValue.string))
      case "hasPrefix:": return .bool(TextComparison.contains(text, texts[0], at: .start, []))
      case "hasSuffix:": return .bool(TextComparison.contains(text, texts[0], at: .end, []))
      case "containsString:": return .bool(TextComparison.contains(text, texts[0], at: .anywhere, []))
      case "isEqualToString:": return .bool(CodeUnits.areEqual(text, texts[0]))
      default: return nil
      }
    }
    if numbers.count == arguments.count {
      switch selector {
      case "substringFromIndex:":
        return PathText.part(text, from: numbers[0], to: nil).map(EvaluationValue.string)
      case "substringToIndex:":
        return PathText.part(text, from: 0, to: numbers[0]).map(EvaluationValue.string)
      default: return nil
      }
    }
    return nil
  }

  private static func date(
    _ selector: String, _ date: EvaluationValue, _ arguments: [EvaluationValue]
  ) -> EvaluationValue? {
    switch selector {
    case "dateByAddingTimeInterval:": try? Evaluation.apply(.add, date, arguments[0])
    case "timeIntervalSinceDate:": try? Evaluation.apply(.subtract, date, arguments[0])
    default: nil
    }
  }

  private static func collection(
    _ selector: String, _ elements: [EvaluationValue], _ arguments: [EvaluationValue]
  ) throws(EvaluationError) -> EvaluationValue? {
    switch selector {
    case "count": return .int(Int64(elements.count))
    case "firstObject": return elements.first ?? .null
    case "lastObject": return elements.last ?? .null
    case "objectAtIndex:": return try Evaluation.element(arguments[0], of: .collection(elements))
    case "containsObject:": return .bool(elements.contains { Equality.areEqual($0, arguments[0]) })
    default: return nil
    }
  }

  private static func object(
    _ selector: String, _ target: EvaluationValue, _ arguments: [EvaluationValue]
  ) throws(EvaluationError) -> EvaluationValue? {
    switch selector {
    case "valueForKey:", "objectForKey:":
      guard case .value(.string(let key)) = arguments[0] else { return nil }
      return try Evaluation.value(forKey: key, of: target)
    default: return nil
    }
  }
}
