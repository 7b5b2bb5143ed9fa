" Made by make.py from the words of the language; change that.
if exists('b:current_syntax')
  finish
endif
syn keyword shardDeclaration fn import jit let manual mesh
syn keyword shardControl P break continue else for if return shard use while
syn keyword shardOperator and as in not or
syn keyword shardConstant false none true
syn keyword shardType bf16 bool f16 f32 f64 i16 i32 i64 i8 u16 u32 u64 u8
syn match shardModifier '\<\(auto\|explicit\|rules\|test\)\>\ze\s*\((\|{\|fn\>\|$\|"\|\.skip\>\)'
syn match shardFunction '\.\@<!\<\(abs\|acos\|acosh\|add\|all\|all_gather\|all_to_all\|allclose\|angle\|any\|append\|arange\|argmax\|argmin\|argsort\|array\|asin\|asinh\|assert\|assert_close\|assert_error\|associative_scan\|assume\|atan\|atan2\|atanh\|average\|avg_pool\|axis_index\|axis_size\|bernoulli\|beta\|bincount\|binomial\|bit_and\|bit_not\|bit_or\|bit_xor\|bits\|breakpoint\|broadcast_to\|bytes\|cast\|categorical\|ceil\|celu\|chars\|check_grads\|checkpoint_folder\|checkpoint_name\|cho_factor\|cho_solve\|choice\|cholesky\|clip\|clock\|comm\|complex\|concat\|conj\|conv\|conv_transpose\|convolve\|corrcoef\|correlate\|cos\|cosh\|cost\|cov\|cross\|cummax\|cummin\|cumprod\|cumsum\|custom_jvp\|custom_vjp\|det\|device_count\|device_get\|devices\|diag\|diagonal\|dict\|diff\|digamma\|dirichlet\|div\|dot\|dynamic_slice\|dynamic_update_slice\|eigh\|einsum\|elu\|enumerate\|eq\|erf\|erf_inv\|erfc\|error\|estimate\|eval_shape\|exists\|exp\|expand_dims\|explain\|expm\|expm1\|exponential\|export_stablehlo\|eye\|fft\|fft2\|fftfreq\|fftn\|fftshift\|filter\|find\|finfo\|flip\|float\|floor\|floor_divide\|fold_in\|from_blocks\|full\|full_like\|gamma\|ge\|gelu\|geomspace\|glu\|grad\|gt\|gumbel\|hard_sigmoid\|hard_silu\|hard_tanh\|has_field\|help\|here\|hessian\|hist\|histogram\|hypot\|ifft\|ifft2\|ifftn\|ifftshift\|iinfo\|imag\|int\|interp\|inv\|irfft\|irfft2\|irfftn\|is_function\|is_number\|isclose\|isfinite\|isinf\|isnan\|jacobian\|jit\|join\|jvp\|key\|key_data\|kron\|laplace\|le\|leaky_relu\|len\|lgamma\|linearize\|linspace\|load\|loader\|local_devices\|log\|log1p\|log_scalars\|log_sigmoid\|log_softmax\|logaddexp\|loggamma\|logical_and\|logical_not\|logical_or\|logspace\|logsumexp\|lower\|lstsq\|lt\|map\|matches\|matmul\|matrix_power\|max\|max_pool\|maximum\|mean\|median\|memory_stats\|meshgrid\|min\|minimum\|mish\|mod\|moveaxis\|mul\|multivariate_normal\|nan_to_num\|nanmax\|nanmean\|nanmin\|nanstd\|nansum\|nanvar\|ne\|neg\|norm\|normal\|one_hot\|ones\|ones_like\|outer\|pad\|pbroadcast\|pcast\|percentile\|permutation\|pinv\|plan\|plot\|pmax\|pmean\|pmin\|poisson\|polyfit\|polyval\|position\|pow\|ppermute\|print\|process_count\|process_index\|prod\|progress\|prove_equal\|pshuffle\|psum\|psum_scatter\|qr\|quantile\|ragged_all_to_all\|ragged_dot\|randint\|range\|read_csv\|read_text\|real\|relu\|relu6\|remat\|repeat\|replace\|reshape\|resize\|resumed\|rfft\|rfft2\|rfftfreq\|rfftn\|roll\|round\|rsqrt\|save\|scan\|scatter\|searchsorted\|segment_max\|segment_min\|segment_prod\|segment_sum\|selu\|shard_map\|sharding\|shards\|shift_left\|shift_right\|sigmoid\|sign\|silu\|sin\|sinh\|slogdet\|softmax\|softplus\|solve\|solve_triangular\|sort\|sort_by\|specs_by\|split\|split_key\|sqrt\|square\|squareplus\|squeeze\|stack\|std\|stop_gradient\|str\|strip\|sub\|sum\|svd\|swapaxes\|table\|take\|take_along_axis\|tan\|tanh\|tensordot\|tile\|time\|top_k\|trace\|transpose\|tree_flatten\|tree_leaves\|tree_map\|tree_map_with_path\|tree_paths\|tree_ravel\|tree_reduce\|tree_unflatten\|tril\|triu\|truncated_normal\|typeof\|uniform\|unique\|upper\|value_and_grad\|var\|vdot\|visualize\|vjp\|vmap\|warn\|where\|xlog1py\|xlogy\|zeros\|zeros_like\|zip\)\>\ze\s*('
syn match shardName '\<fn\s\+\zs\h\w*'
syn match shardNumber '\<\(0[xX][0-9A-Fa-f_]\+\|\d[0-9_]*\(\.\d\+\)\=\([eE][-+]\=\d\+\)\=\)\>'
syn match shardAxis '@\h\w*'
syn region shardString start='"' skip='\\.' end='"\|$' contains=shardEscape,shardValue
syn match shardEscape contained '\\.\|{{\|}}'
syn region shardValue contained matchgroup=shardEscape start='{' end='}\|$' contains=ALLBUT,shardEscape
syn match shardComment '#.*$' contains=@Spell
hi def link shardDeclaration Statement
hi def link shardControl Statement
hi def link shardOperator Operator
hi def link shardModifier StorageClass
hi def link shardConstant Constant
hi def link shardType Type
hi def link shardFunction Function
hi def link shardName Function
hi def link shardNumber Number
hi def link shardAxis Identifier
hi def link shardString String
hi def link shardEscape SpecialChar
hi def link shardComment Comment
let b:current_syntax = 'shard'
