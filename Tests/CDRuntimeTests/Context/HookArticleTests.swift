import Foundation
import Testing

/// The section "Hooks" of the article "Contexts and stores".
@Suite(.onceForAllKinds) struct HookArticleTests {
  @Test func everyHookIsDescribed() throws {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let runtime = root.appending(path: "Sources/CDRuntime")
    let article = try String(
      contentsOf: runtime.appending(path: "CDRuntime.docc/ContextsAndStores.md"), encoding: .utf8)
    let source = try String(
      contentsOf: runtime.appending(path: "Context/Objects/ManagedObjectLifecycle.swift"), encoding: .utf8)
    let hooks = source.matches(of: #/(?m)^  func (\w+)\(\)/#).map { String($0.1) }
    #expect(hooks.count == 8)
    for hook in hooks {
      #expect(article.contains("| ``ManagedObjectLifecycle/\(hook)()`` |"), "the article lacks \(hook)()")
    }
  }
}
